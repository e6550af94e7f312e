import { existsSync } from "node:fs";
import path from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files of more than a minute in CI, the longest first. A fresh clone has no times of an earlier run, and Vitest then
 * starts with the files of the most bytes: one of these that comes last runs alone at the end.
 */
const LONGEST = [
  "test/bench-gpu.test.ts",
  "test/examples.test.ts",
  "test/attacks/git.test.ts",
  "test/e2e/walkthrough-page.test.ts",
  "test/cluster/slurm.test.ts",
  "test/attribution/torch-leaks.test.ts",
  "test/action/accept-gate.test.ts",
  "test/attacks/red-stays-red.test.ts",
  "test/action/failures.test.ts",
  "test/attacks/hangs.test.ts",
  "test/workflows/act-lab.test.ts",
  "test/e2e/out-of-memory.test.ts",
  "test/e2e/shards.test.ts",
  "test/e2e/inside.test.ts",
  "test/e2e/merge.test.ts",
];

/** Starts the files that take longest before the others. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    for (const name of LONGEST) if (!existsSync(path.join(root, name))) throw new Error(`${name} does not exist`);
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.indexOf(path.relative(root, moduleId).split(path.sep).join("/"));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
