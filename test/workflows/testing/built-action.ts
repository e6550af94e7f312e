import { cpSync, existsSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../../../src/core/package-root.ts";
import { builtSteps } from "../../action/testing/build-steps.ts";
import { Repository } from "./repository.ts";

const PARTS = ["report", "merge", "refresh", "accept"];
/** The parts of the Action's checkout that a run needs. */
const SHIPPED = ["action.yml", "package.json", ...PARTS, "leak-lab", "scripts/ci", ".github"];

/** A repository with the Action as it is built from the sources now, in one commit. */
export async function builtAction(): Promise<Repository> {
  const root = packageRoot();
  const repository = new Repository();
  cpSync(await builtSteps(), path.join(repository.directory, "dist"), { recursive: true });
  for (const name of ["dist/prebuilds", ...SHIPPED]) {
    const source = path.join(root, name);
    if (existsSync(source)) cpSync(source, path.join(repository.directory, name), { recursive: true });
  }
  repository.commit("the project");
  return repository;
}

/** The event of a push to a pull request of the doubles' repository. */
export function pullRequestEvent(number: number, base: string, head: string): object {
  const repo = { full_name: "octo/model" };
  return {
    action: "synchronize",
    number,
    pull_request: { number, head: { sha: head, ref: "change", repo }, base: { sha: base, ref: "main", repo } },
    repository: { ...repo, default_branch: "main" },
  };
}
