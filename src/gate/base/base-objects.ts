import { createHash, type Hash } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import { git } from "../../git/git.ts";

/** A file of git LFS as its pointer names it. */
export interface LfsPointer {
  readonly sha256: string;
  readonly bytes: number;
}

/** What a commit consists of, every object of which has the content that its name promises. */
export interface VerifiedCommit {
  /** LFS pointers by the id of their blob. */
  readonly pointers: ReadonlyMap<string, LfsPointer>;
  /** Filters that its attributes name. */
  readonly filters: ReadonlySet<string>;
}

const POINTER =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:[^\n]*\n)*?oid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n/;
const MAX_POINTER = 1024;
/** Larger than any list of attributes that a person wrote. */
const MAX_KEPT = 2 ** 20;

/** The pointer that a small file is; null when it is none. */
export function lfsPointer(text: string): LfsPointer | null {
  const [, sha256, bytes] = POINTER.exec(text) ?? [];
  return sha256 === undefined ? null : { sha256, bytes: Number(bytes) };
}

const MAX_TREE = 64 * 2 ** 20;

/** Bytes of a stream, by lines and counts. */
class Reader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: Readable) {
    this.#chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async #more(): Promise<Buffer> {
    if (this.#rest.length > 0) {
      const rest = this.#rest;
      this.#rest = Buffer.alloc(0);
      return rest;
    }
    const { done, value } = await this.#chunks.next();
    if (done === true) throw new Error("git ended early");
    return value;
  }

  async line(): Promise<string> {
    let line = "";
    for (;;) {
      const chunk = await this.#more();
      const end = chunk.indexOf(10);
      if (end >= 0) {
        this.#rest = chunk.subarray(end + 1);
        return line + chunk.toString("latin1", 0, end);
      }
      line += chunk.toString("latin1");
      if (line.length > MAX_POINTER) throw new Error("git printed an unknown format");
    }
  }

  /** Read so many bytes into a hash. @returns the bytes themselves when they are to be kept */
  async bytes(count: number, hash: Hash | null, keep: boolean): Promise<Buffer> {
    const kept: Buffer[] = [];
    for (let left = count; left > 0; ) {
      const chunk = await this.#more();
      const part = chunk.subarray(0, left);
      this.#rest = chunk.subarray(part.length);
      left -= part.length;
      hash?.update(part);
      if (keep) kept.push(part);
    }
    return Buffer.concat(kept);
  }
}

interface TreeEntry {
  readonly mode: string;
  readonly name: string;
  readonly id: string;
}

/** Entries of a tree object: `<mode> <name>\0<id in binary>`. */
function entriesOf(tree: Buffer, idBytes: number): TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (let at = 0; at < tree.length; ) {
    const space = tree.indexOf(32, at);
    const zero = tree.indexOf(0, space);
    if (space < 0 || zero < 0) throw new Error("a tree is damaged");
    const id = tree.toString("hex", zero + 1, zero + 1 + idBytes);
    entries.push({ mode: tree.toString("latin1", at, space), name: tree.toString("utf8", space + 1, zero), id });
    at = zero + 1 + idBytes;
  }
  return entries;
}

const SUBMODULE = "160000";

class Verification {
  readonly pointers = new Map<string, LfsPointer>();
  readonly filters = new Set<string>();
  readonly #commit: string;
  readonly #asked = new Set<string>();
  readonly #attributes = new Set<string>();
  /** Requests in the order in which git answers them. */
  readonly #open: string[] = [];
  #stdin: Writable | null = null;

  constructor(commit: string) {
    this.#commit = commit;
  }

  #ask(id: string): void {
    if (this.#asked.has(id)) return;
    this.#asked.add(id);
    this.#open.push(id);
    this.#stdin?.write(`${id}\n`);
  }

  async run(stdin: Writable, stdout: Readable): Promise<void> {
    this.#stdin = stdin;
    const reader = new Reader(stdout);
    this.#ask(this.#commit);
    for (let next = 0; next < this.#open.length; next += 1) await this.#read(this.#open[next] as string, reader);
    stdin.end();
  }

  async #read(id: string, reader: Reader): Promise<void> {
    const [, type = "", size = ""] = /^[0-9a-f]+ (\w+) (\d+)$/.exec(await reader.line()) ?? [];
    const bytes = Number(size);
    if (size === "") throw new Error(`object ${id.slice(0, 12)} is missing`);
    if (type !== "blob" && bytes > MAX_TREE) throw new Error(`object ${id.slice(0, 12)} is too large`);
    const hash = createHash(id.length === 40 ? "sha1" : "sha256").update(`${type} ${bytes}\0`);
    const keep = type !== "blob" || bytes <= MAX_POINTER || (this.#attributes.has(id) && bytes <= MAX_KEPT);
    const content = await reader.bytes(bytes, hash, keep);
    await reader.bytes(1, null, false);
    if (hash.digest("hex") !== id) throw new Error(`object ${id.slice(0, 12)} was changed`);
    if (type === "commit") this.#ask(/^tree ([0-9a-f]+)\n/.exec(content.toString("latin1"))?.[1] ?? "");
    else if (type === "tree") this.#askEntries(entriesOf(content, id.length / 2));
    else this.#look(id, content.toString("utf8"));
  }

  #askEntries(entries: readonly TreeEntry[]): void {
    // A blob may be one's attributes and have been read as another file before.
    for (const { mode, name, id } of entries) {
      if (name === ".gitattributes" && !this.#attributes.has(id)) {
        this.#attributes.add(id);
        this.#asked.delete(id);
      }
      if (mode !== SUBMODULE) this.#ask(id);
    }
  }

  #look(id: string, text: string): void {
    const pointer = lfsPointer(text);
    if (pointer !== null) this.pointers.set(id, pointer);
    if (!this.#attributes.has(id)) return;
    for (const [, name = ""] of text.matchAll(/(?:^|\s)filter=(\S+)/g)) this.filters.add(name);
  }
}

/**
 * Read every object of a commit and compare its content with its name. Git itself does not: measured code that rewrites
 * an object of the clone would change what the base consists of.
 * @throws Error with the reason
 */
export async function verifyCommit(top: string, commit: string, timeoutMs: number): Promise<VerifiedCommit> {
  const verification = new Verification(commit);
  let problem: Error | null = null;
  const { ok, stderr } = await git(top, ["cat-file", "--batch"], {
    timeoutMs,
    exchange: async (stdin, stdout) => {
      try {
        await verification.run(stdin, stdout);
      } catch (error) {
        problem = error instanceof Error ? error : new Error(String(error));
        throw problem;
      }
    },
  });
  if (problem !== null) throw problem;
  if (!ok) throw new Error(stderr.split("\n")[0] || "git ended early");
  return verification;
}
