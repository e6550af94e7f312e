import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Answer } from "../http.ts";
import { CatFile } from "./cat-file.ts";
import { type Call, NOT_FOUND, type Routes, unprocessable } from "./route.ts";

const GIT = "/repos/{owner}/{repo}/git";
const SHA = /^[0-9a-f]{40}$/;

interface Ran {
  readonly ok: boolean;
  readonly out: Buffer;
  readonly err: string;
}

const AUTHOR = {
  GIT_AUTHOR_NAME: "github-actions[bot]",
  GIT_AUTHOR_EMAIL: "bot@example.org",
  GIT_COMMITTER_NAME: "GitHub",
  GIT_COMMITTER_EMAIL: "noreply@example.org",
};

interface NewEntry {
  readonly path: string;
  readonly mode: string;
  readonly sha?: string | null;
  readonly content?: string;
}

/**
 * GitHub's Git Data API over a real repository: objects and refs are git's, and git refuses every move that is
 * not a fast-forward. Answers come after 0 to `delayMs` milliseconds, as from a network.
 */
export class GitDataDouble {
  readonly directory: string;
  readonly #own: boolean;
  delayMs = 15;
  #indices = 0;
  readonly #objects: CatFile;
  readonly #scratch = mkdtempSync(path.join(tmpdir(), "stormlog-git-data-"));

  /** @param directory a repository (bare or `.git`) that exists; by default a new one */
  constructor(directory?: string) {
    this.#own = directory === undefined;
    this.directory = directory ?? path.join(this.#scratch, ".git");
    this.#objects = new CatFile(this.directory);
    if (!this.#own) return;
    execFileSync("git", ["init", "--quiet", "--initial-branch=main", this.#scratch]);
    execFileSync("git", ["-C", this.directory, "config", "receive.denyCurrentBranch", "ignore"]);
  }

  dispose(): void {
    this.#objects.dispose();
    rmSync(this.#scratch, { recursive: true, force: true });
  }

  /** Run git in the repository, as a test looks at it from outside. */
  git(...args: readonly string[]): string {
    const env = { ...process.env, ...AUTHOR };
    return execFileSync("git", ["--git-dir", this.directory, ...args], { encoding: "utf8", env, stdio: "pipe" }).trim();
  }

  readonly routes: Routes = {
    [`${GIT}/ref/{ref}`]: { GET: (call) => this.#late(() => this.#getRef(call)) },
    [`${GIT}/matching-refs/{ref}`]: { GET: (call) => this.#late(() => this.#matching(call)) },
    [`${GIT}/refs`]: { POST: (call) => this.#late(() => this.#createRef(call)) },
    [`${GIT}/refs/{ref}`]: {
      PATCH: (call) => this.#late(() => this.#updateRef(call)),
      DELETE: (call) => this.#late(() => this.#deleteRef(call)),
    },
    [`${GIT}/commits`]: { POST: (call) => this.#late(() => this.#createCommit(call)) },
    [`${GIT}/commits/{commit_sha}`]: { GET: (call) => this.#late(() => this.#getCommit(call)) },
    [`${GIT}/trees`]: { POST: (call) => this.#late(() => this.#createTree(call)) },
    [`${GIT}/trees/{tree_sha}`]: { GET: (call) => this.#late(() => this.#getTree(call)) },
    [`${GIT}/blobs`]: { POST: (call) => this.#late(() => this.#createBlob(call)) },
    [`${GIT}/blobs/{file_sha}`]: { GET: (call) => this.#late(() => this.#getBlob(call)) },
  };

  /** GraphQL's `updateRefs`: several refs at once, each only from the commit it names. For `GitHubDouble.graphQl`. */
  updateRefs(query: string, variables: Readonly<Record<string, unknown>>): unknown {
    if (!query.includes("updateRefs")) return null;
    const { name, before, after } = variables as { name: string; before: string; after: string };
    try {
      this.git("update-ref", name, after, before);
      return { data: { updateRefs: { clientMutationId: null } } };
    } catch {
      const message = `Reference update failed: ${name} is at another commit than ${before}`;
      return { data: { updateRefs: null }, errors: [{ type: "UNPROCESSABLE", path: ["updateRefs"], message }] };
    }
  }

  async #late(work: () => Promise<Answer>): Promise<Answer> {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * this.delayMs));
    return work();
  }

  #run(args: readonly string[], input?: string | Buffer, env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    return new Promise((resolve) => {
      const child = execFile(
        "git",
        ["--git-dir", this.directory, ...args],
        { encoding: "buffer", maxBuffer: 256 * 1024 * 1024, env: { ...process.env, ...AUTHOR, ...env } },
        (error, out, err) => resolve({ ok: error === null, out, err: err.toString("utf8") }),
      );
      child.stdin?.on("error", () => {});
      child.stdin?.end(input ?? "");
    });
  }

  async #text(...args: readonly string[]): Promise<string | null> {
    const { ok, out } = await this.#run(args);
    return ok ? out.toString("utf8").trim() : null;
  }

  /** Commit a ref points to, from its own file where it has one. */
  async #tip(ref: string): Promise<string | null> {
    const own = await readFile(path.join(this.directory, ref), "utf8").catch(() => "");
    return SHA.test(own.trim()) ? own.trim() : this.#text("rev-parse", "--verify", "--quiet", ref);
  }

  async #isType(sha: string, type: string): Promise<boolean> {
    return SHA.test(sha) && (await this.#objects.read(sha))?.type === type;
  }

  #refBody(call: Call, ref: string, sha: string): object {
    const url = `${call.url}/git/${ref}`;
    return { ref, node_id: "REF_x", url, object: { type: "commit", sha, url: `${call.url}/git/commits/${sha}` } };
  }

  async #getRef(call: Call): Promise<Answer> {
    const ref = `refs/${call.parameters.ref}`;
    const sha = await this.#tip(ref);
    return sha === null ? NOT_FOUND : { status: 200, body: this.#refBody(call, ref, sha) };
  }

  async #matching(call: Call): Promise<Answer> {
    const prefix = `refs/${call.parameters.ref}`;
    const listing = (await this.#text("for-each-ref", "--format=%(objectname) %(refname)", "refs/")) ?? "";
    const found = listing.split("\n").flatMap((line) => {
      const [sha = "", ref = ""] = line.split(" ");
      return ref.startsWith(prefix) ? [this.#refBody(call, ref, sha)] : [];
    });
    return { status: 200, body: found };
  }

  async #createRef(call: Call): Promise<Answer> {
    const { ref, sha } = call.request.body as { ref: string; sha: string };
    if (!ref.startsWith("refs/") || ref.split("/").length < 3)
      return unprocessable("Reference name must start with 'refs/'");
    if (!(await this.#isType(sha, "commit"))) return unprocessable("Object does not exist");
    const { ok } = await this.#run(["update-ref", ref, sha, "0".repeat(40)]);
    return ok ? { status: 201, body: this.#refBody(call, ref, sha) } : unprocessable("Reference already exists");
  }

  async #updateRef(call: Call): Promise<Answer> {
    const ref = `refs/${call.parameters.ref}`;
    const { sha, force = false } = call.request.body as { sha: string; force?: boolean };
    const old = await this.#tip(ref);
    if (old === null) return unprocessable("Reference does not exist");
    if (!(await this.#isType(sha, "commit"))) return unprocessable("Object does not exist");
    if (!force && !(await this.#run(["merge-base", "--is-ancestor", old, sha])).ok)
      return unprocessable("Update is not a fast forward");
    const { ok } = await this.#run(["update-ref", ref, sha, old]);
    return ok ? { status: 200, body: this.#refBody(call, ref, sha) } : unprocessable("Update is not a fast forward");
  }

  async #deleteRef(call: Call): Promise<Answer> {
    const ref = `refs/${call.parameters.ref}`;
    if ((await this.#tip(ref)) === null) return unprocessable("Reference does not exist");
    await this.#run(["update-ref", "-d", ref]);
    return { status: 204 };
  }

  async #createBlob(call: Call): Promise<Answer> {
    const { content, encoding } = call.request.body as { content: string; encoding?: string };
    const bytes = Buffer.from(content, encoding === "base64" ? "base64" : "utf8");
    const { out } = await this.#run(["hash-object", "-w", "--stdin"], bytes);
    const sha = out.toString("utf8").trim();
    return { status: 201, body: { url: `${call.url}/git/blobs/${sha}`, sha } };
  }

  async #getBlob(call: Call): Promise<Answer> {
    const sha = call.parameters.file_sha ?? "";
    const object = SHA.test(sha) ? await this.#objects.read(sha) : null;
    if (object?.type !== "blob") return NOT_FOUND;
    const out = object.content;
    // GitHub breaks base64 into lines.
    const content = out.toString("base64").replace(/.{60}/g, "$&\n");
    const body = {
      sha,
      content,
      encoding: "base64",
      size: out.byteLength,
      node_id: "B",
      url: `${call.url}/git/blobs/${sha}`,
    };
    return { status: 200, body };
  }

  async #treeBody(call: Call, treeish: string, recursive: boolean): Promise<object | null> {
    const sha = (await this.#objects.read(`${treeish}^{tree}`))?.sha;
    if (sha === undefined) return null;
    const flags = recursive ? ["-r", "-t"] : [];
    const { out } = await this.#run(["ls-tree", "-z", "--long", ...flags, sha]);
    const tree = out
      .toString("utf8")
      .split("\0")
      .filter((line) => line !== "")
      .map((line) => {
        const [facts = "", name = ""] = line.split("\t");
        const [mode, type, id, size] = facts.split(/ +/);
        return {
          path: name,
          mode,
          type,
          sha: id,
          ...(size === "-" ? {} : { size: Number(size) }),
          url: `${call.url}/x`,
        };
      });
    return { sha, url: `${call.url}/git/trees/${sha}`, tree, truncated: false };
  }

  async #getTree(call: Call): Promise<Answer> {
    const recursive = call.request.query.has("recursive");
    const body = await this.#treeBody(call, call.parameters.tree_sha ?? "", recursive);
    return body === null ? NOT_FOUND : { status: 200, body };
  }

  async #createTree(call: Call): Promise<Answer> {
    const { base_tree: base, tree } = call.request.body as { base_tree?: string; tree: readonly NewEntry[] };
    this.#indices += 1;
    const env = { GIT_INDEX_FILE: path.join(this.#scratch, `index-${this.#indices}`) };
    if (base !== undefined && !(await this.#run(["read-tree", base], undefined, env)).ok)
      return { status: 404, body: { message: "base_tree is not a valid tree oid" } };
    const lines: string[] = [];
    for (const entry of tree) {
      if (entry.content === undefined && entry.sha === null) {
        const there = await this.#run(
          ["ls-files", "--error-unmatch", "--", `:(top,literal)${entry.path}`],
          undefined,
          env,
        );
        if (!there.ok) return unprocessable("GitRPC::BadObjectState");
        lines.push(`0 ${"0".repeat(40)}\t${entry.path}`);
        continue;
      }
      const blob =
        entry.sha ??
        (await this.#run(["hash-object", "-w", "--stdin"], entry.content ?? "")).out.toString("utf8").trim();
      if (!(await this.#isType(blob, "blob"))) return unprocessable(`tree.sha ${blob} is not a valid blob`);
      lines.push(`${entry.mode} ${blob}\t${entry.path}`);
    }
    const added = await this.#run(["update-index", "-z", "--index-info"], `${lines.join("\0")}\0`, env);
    if (!added.ok) return unprocessable(`tree.path is malformed: ${added.err}`);
    const written = await this.#run(["write-tree"], undefined, env);
    rmSync(env.GIT_INDEX_FILE, { force: true });
    const sha = written.out.toString("utf8").trim();
    const body = written.ok ? await this.#treeBody(call, sha, false) : null;
    if (body === null || (body as { tree: object[] }).tree.length === 0) return unprocessable("Invalid tree info");
    return { status: 201, body };
  }

  async #commitBody(call: Call, sha: string): Promise<object | null> {
    const object = SHA.test(sha) ? await this.#objects.read(sha) : null;
    if (object?.type !== "commit") return null;
    const text = object.content.toString("utf8");
    const end = text.indexOf("\n\n");
    const headers = text.slice(0, end).split("\n");
    const values = (name: string): string[] =>
      headers.flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));
    const person = (line = ""): object => {
      const [, name, email, seconds] = /^(.*) <(.*)> (\d+) /.exec(line) ?? [];
      return { name, email, date: new Date(Number(seconds) * 1000).toISOString() };
    };
    const [tree] = values("tree");
    const url = `${call.url}/git/commits/${sha}`;
    return {
      ...{ sha, node_id: "C_x", url, html_url: url, message: text.slice(end + 2) },
      author: person(values("author")[0]),
      committer: person(values("committer")[0]),
      tree: { sha: tree, url: `${call.url}/git/trees/${tree}` },
      parents: values("parent").map((id) => ({ sha: id, url: `${call.url}/x`, html_url: `${call.url}/x` })),
      verification: { verified: false, reason: "unsigned", signature: null, payload: null, verified_at: null },
    };
  }

  async #getCommit(call: Call): Promise<Answer> {
    const body = await this.#commitBody(call, call.parameters.commit_sha ?? "");
    return body === null ? NOT_FOUND : { status: 200, body };
  }

  async #createCommit(call: Call): Promise<Answer> {
    const { message, tree, parents = [] } = call.request.body as { message: string; tree: string; parents?: string[] };
    const { ok, out } = await this.#run(["commit-tree", tree, ...parents.flatMap((one) => ["-p", one])], message);
    if (!ok) return unprocessable("Tree SHA does not exist");
    return { status: 201, body: (await this.#commitBody(call, out.toString("utf8").trim())) ?? {} };
  }
}
