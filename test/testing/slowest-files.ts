import path from "node:path";
import type { Reporter, TestModule } from "vitest/node";

const FILES = 10;

/** Ends a run of many files with its slowest ones. */
export default class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= FILES) return;
    const timed = modules.map((module) => {
      const { collectDuration, duration } = module.diagnostic();
      return { name: path.relative(process.cwd(), module.moduleId), seconds: (collectDuration + duration) / 1000 };
    });
    timed.sort((a, b) => b.seconds - a.seconds);
    const lines = timed.slice(0, FILES).map(({ name, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${name}`);
    // Reporters are called in turn; the summary of the one before is printed first.
    process.once("exit", () => process.stdout.write(`\nSlowest files\n${lines.join("\n")}\n`));
  }
}
