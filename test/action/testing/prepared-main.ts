import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Engine, type EngineRun, runGateStep } from "../../../src/actions/gate/step.ts";
import { usageError } from "../../../src/core/errors.ts";
import type { GateReport } from "../../../src/report/model/gate-report.ts";
import { sampleReport } from "../../../src/report/testing/sample-report.ts";

/**
 * The Action's step around an engine that has its answer ready, for tests of everything behind the engine: they need
 * many steps and no measurement. The input `run` selects what the engine does.
 */

function bundle(run: EngineRun, report: GateReport): { report: GateReport; bundleDir: string } {
  mkdirSync(path.join(run.bundleDir, "runs/train-mlp/1"), { recursive: true });
  const put = (name: string, data: string | Uint8Array): void => writeFileSync(path.join(run.bundleDir, name), data);
  put("report.json", `${JSON.stringify({ verdict: report.verdict })}\n`);
  put("timeline.html", "<!doctype html><title>timeline</title>\n");
  put(
    "runs/train-mlp/1/samples.parquet",
    Uint8Array.from({ length: 300_000 }, (_, n) => (n * 7919) >>> 3),
  );
  return { report, bundleDir: run.bundleDir };
}

const interrupted = (run: EngineRun): Promise<void> =>
  new Promise((resolve) => run.signal.addEventListener("abort", () => resolve(), { once: true }));

const prepared: Engine = async (run) => {
  const { inputs, ports } = run;
  ports.log("measuring");
  // A pending promise alone does not keep a process alive; a measured child process does.
  const alive = setInterval(() => {}, 1000);
  try {
    switch (inputs.run) {
      case "spoof":
        ports.stdout?.(Buffer.from("::error::spoofed\n::add-mask::pass\n"));
        ports.stderr?.(Buffer.from("::set-output name=verdict::pass\n::endgroup::"));
        return bundle(run, sampleReport("fail"));
      case "throw":
        throw usageError("NO_COMMAND", "there is nothing to run", "Give a command.");
      case "broken":
        bundle(run, sampleReport("error"));
        throw new TypeError("a fault of ours");
      case "crash":
        throw new TypeError("a fault of ours");
      case "wait":
        await interrupted(run);
        return bundle(run, sampleReport("error", { exit_code: 130 }));
      case "stuck":
        bundle(run, sampleReport("error"));
        return await new Promise<never>(() => {});
      case "names": {
        const left = bundle(run, sampleReport("fail"));
        for (const name of [
          'say "hi"',
          "12:30",
          "a<b>c",
          "a|b",
          "a*",
          "a?",
          "two\nlines",
          "two\rlines",
          "\\report.json",
        ]) {
          writeFileSync(path.join(run.bundleDir, "runs/train-mlp/1", name), "x");
        }
        return left;
      }
      case "pass":
      case "unjudged":
      case "error":
        return bundle(run, sampleReport(inputs.run));
      default:
        return bundle(run, sampleReport("fail"));
    }
  } finally {
    clearInterval(alive);
  }
};

await runGateStep(prepared);
