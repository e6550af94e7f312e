import { execFileSync } from "node:child_process";
import { type Call, NOT_FOUND, type Routes } from "./route.ts";

/** Files and history of a real repository, as the contents, commits and compare operations return them. */
export class Contents {
  readonly #directory: string;

  /** @param directory the repository's directory */
  constructor(directory: string) {
    this.#directory = directory;
  }

  readonly routes: Routes = {
    "/repos/{owner}/{repo}/contents/{path}": { GET: (call) => this.#content(call) },
    "/repos/{owner}/{repo}/commits/{ref}": { GET: (call) => this.#commit(call) },
    "/repos/{owner}/{repo}/compare/{basehead}": { GET: (call) => this.#compare(call) },
  };

  #git(...args: readonly string[]): string | null {
    try {
      return execFileSync("git", ["-C", this.#directory, ...args], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
    } catch {
      return null;
    }
  }

  #content({ request, parameters, contract }: Call) {
    const ref = request.query.get("ref") ?? "HEAD";
    const path = parameters.path ?? "";
    const text = this.#git("cat-file", "blob", `${ref}:${path}`);
    if (text === null) return NOT_FOUND;
    const example = contract.example("content-file-response-if-content-is-a-file");
    const content = Buffer.from(text).toString("base64");
    return { status: 200, body: { ...example, type: "file", path, name: path, encoding: "base64", content } };
  }

  #commit({ parameters, contract }: Call) {
    const sha = this.#git("rev-parse", "--verify", `${parameters.ref}^{commit}`)?.trim();
    if (sha === undefined) return NOT_FOUND;
    return { status: 200, body: { ...contract.example("commit"), sha } };
  }

  #compare({ parameters, contract }: Call) {
    const [from = "", to = ""] = (parameters.basehead ?? "").split("...");
    const base = this.#git("merge-base", from, to)?.trim();
    if (base === undefined) return NOT_FOUND;
    const example = contract.example("commit-comparison") as { merge_base_commit: object };
    const merge_base_commit = { ...example.merge_base_commit, sha: base };
    return { status: 200, body: { ...example, merge_base_commit, commits: [], total_commits: 0 } };
  }
}
