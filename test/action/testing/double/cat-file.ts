import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

export interface GitObject {
  readonly sha: string;
  readonly type: string;
  readonly content: Buffer;
}

/**
 * One `git cat-file --batch` that reads all objects of a repository: a process for each would be most of a test's
 * time.
 */
export class CatFile {
  readonly #directory: string;
  #child: ChildProcessWithoutNullStreams | null = null;
  #pending = Buffer.alloc(0);
  readonly #waiting: ((object: GitObject | null) => void)[] = [];

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Null when the object does not exist. */
  read(name: string): Promise<GitObject | null> {
    if (/[\s\0]/.test(name) || name === "") return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#process().stdin.write(`${name}\n`);
    });
  }

  dispose(): void {
    this.#child?.kill();
    this.#child = null;
  }

  #process(): ChildProcessWithoutNullStreams {
    if (this.#child !== null) return this.#child;
    const child = spawn("git", ["--git-dir", this.#directory, "cat-file", "--batch"]);
    child.unref();
    child.stdout.on("data", (chunk: Buffer) => {
      this.#pending = Buffer.concat([this.#pending, chunk]);
      while (this.#answer());
    });
    child.stderr.resume();
    child.stdin.on("error", () => {});
    this.#child = child;
    return child;
  }

  #answer(): boolean {
    const end = this.#pending.indexOf(10);
    if (end < 0) return false;
    const [sha = "", type = "", size = ""] = this.#pending.subarray(0, end).toString("utf8").split(" ");
    if (size === "") {
      this.#pending = this.#pending.subarray(end + 1);
      this.#waiting.shift()?.(null);
      return true;
    }
    const from = end + 1;
    const to = from + Number(size);
    if (this.#pending.byteLength < to + 1) return false;
    const content = Buffer.from(this.#pending.subarray(from, to));
    this.#pending = this.#pending.subarray(to + 1);
    this.#waiting.shift()?.({ sha, type, content });
    return true;
  }
}
