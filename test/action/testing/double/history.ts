import { execFile } from "node:child_process";
import { type Call, NOT_FOUND, type Routes } from "./route.ts";

type Json = Readonly<Record<string, unknown>>;

/** GitHub's answers about the history of a repository, from a real one on this machine. */
export class HistoryDouble {
  readonly #directory: string;
  /** Fields of `GET /repos/{owner}/{repo}` beside its example. */
  repository: Json = {};

  /** @param directory the bare repository or `.git` that GitHub would hold */
  constructor(directory: string) {
    this.#directory = directory;
  }

  readonly routes: Routes = {
    "/repos/{owner}/{repo}/compare/{basehead}": {
      GET: async (call) => {
        const body = await this.#compare(call);
        return body === null ? NOT_FOUND : { status: 200, body };
      },
    },
    "/repos/{owner}/{repo}/commits": {
      GET: async (call) => {
        const body = await this.#list(call);
        return body === null ? NOT_FOUND : { status: 200, body };
      },
    },
    "/repos/{owner}/{repo}": {
      GET: ({ contract }) => {
        const example = contract.example("full-repository-default-response");
        // The official example lacks a field that its schema requires.
        const source = { ...(example.source as Json), language: null };
        return { status: 200, body: { ...example, language: null, source, ...this.repository } };
      },
    },
  };

  #git(...args: readonly string[]): Promise<string | null> {
    return new Promise((resolve) => {
      execFile("git", ["--git-dir", this.#directory, ...args], { encoding: "utf8" }, (error, stdout) =>
        resolve(error === null ? stdout.trim() : null),
      );
    });
  }

  /** A commit or branch as GitHub takes it in a path; hidden refs are not accepted. */
  async #commit(name: string): Promise<string | null> {
    if (/^[0-9a-f]{40}$/.test(name)) return this.#git("rev-parse", "--verify", "--quiet", `${name}^{commit}`);
    return this.#git("rev-parse", "--verify", "--quiet", `refs/heads/${name}`);
  }

  #body(call: Call, sha: string): Json {
    const [example] = Object.values(call.contract.example("commit-items")) as Json[];
    return { ...example, sha };
  }

  async #compare(call: Call): Promise<Json | null> {
    const [baseName = "", headName = ""] = (call.parameters.basehead ?? "").split("...");
    const [base, head] = [await this.#commit(baseName), await this.#commit(headName)];
    if (base === null || head === null) return null;
    const fork = await this.#git("merge-base", base, head);
    if (fork === null) return null;
    const counts = (await this.#git("rev-list", "--left-right", "--count", `${base}...${head}`)) ?? "";
    const [behind = 0, ahead = 0] = counts.split(/\s+/).map(Number);
    const status = base === head ? "identical" : behind === 0 ? "ahead" : ahead === 0 ? "behind" : "diverged";
    return {
      ...call.contract.example("commit-comparison"),
      status,
      ...{ ahead_by: ahead, behind_by: behind, total_commits: ahead },
      base_commit: this.#body(call, base),
      merge_base_commit: this.#body(call, fork),
      commits: [],
      files: [],
    };
  }

  async #list(call: Call): Promise<Json[] | null> {
    const { query } = call.request;
    const tip = await this.#commit(query.get("sha") ?? "main");
    if (tip === null) return null;
    const size = Math.min(100, Number(query.get("per_page") ?? 30));
    const skip = (Number(query.get("page") ?? 1) - 1) * size;
    const shas = (await this.#git("rev-list", `--skip=${skip}`, `--max-count=${size}`, tip)) ?? "";
    return shas.split("\n").flatMap((sha) => (sha === "" ? [] : [this.#body(call, sha)]));
  }
}
