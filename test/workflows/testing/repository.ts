import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const IDENTITY = {
  GIT_AUTHOR_NAME: "A Person",
  GIT_AUTHOR_EMAIL: "person@example.com",
  GIT_COMMITTER_NAME: "A Person",
  GIT_COMMITTER_EMAIL: "person@example.com",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
};

/** A git repository in a temporary directory. */
export class Repository {
  readonly directory: string;

  constructor(branch = "main") {
    this.directory = mkdtempSync(path.join(tmpdir(), "stormlog-repository-"));
    this.git("init", "--quiet", `--initial-branch=${branch}`);
  }

  git(...args: readonly string[]): string {
    const env = { ...process.env, ...IDENTITY };
    return execFileSync("git", args, { cwd: this.directory, env, encoding: "utf8", stdio: "pipe" }).trim();
  }

  write(file: string, text: string | Uint8Array): void {
    mkdirSync(path.dirname(path.join(this.directory, file)), { recursive: true });
    writeFileSync(path.join(this.directory, file), text);
  }

  /** Commit everything there is; returns the commit. */
  commit(message: string): string {
    this.git("add", "--all", "--force");
    this.git("commit", "--quiet", "--message", message);
    return this.git("rev-parse", "HEAD");
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
