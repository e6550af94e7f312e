import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Engine, EngineIo } from "../../../src/actions/gate/engine.ts";
import { runProcessStep } from "../../../src/actions/gate/process-step.ts";
import { usageError } from "../../../src/core/errors.ts";
import type { GateReport } from "../../../src/report/documents/model.ts";
import { sampleReport } from "../../../src/report/testing/sample-report.ts";

/**
 * The Action's step around an engine that has its answer ready, for tests of everything behind the engine: they need
 * many steps and no measurement. The input `run` selects what the engine does.
 */

function bundle(io: EngineIo, report: GateReport): { report: GateReport; bundleDir: string } {
  mkdirSync(path.join(io.bundleDir, "runs/train-mlp/1"), { recursive: true });
  const put = (name: string, data: string | Uint8Array): void => writeFileSync(path.join(io.bundleDir, name), data);
  put("report.json", `${JSON.stringify({ word: report.word })}\n`);
  put("timeline.html", "<!doctype html><title>timeline</title>\n");
  put(
    "runs/train-mlp/1/samples.parquet",
    Uint8Array.from({ length: 300_000 }, (_, n) => (n * 7919) >>> 3),
  );
  return { report, bundleDir: io.bundleDir };
}

const interrupted = (io: EngineIo): Promise<void> =>
  new Promise((resolve) => io.interrupt.addEventListener("abort", () => resolve(), { once: true }));

const prepared: Engine = async (inputs, io) => {
  io.log("measuring");
  // A pending promise alone does not keep a process alive; a measured child does.
  const alive = setInterval(() => {}, 1000);
  try {
    switch (inputs.run) {
      case "spoof":
        io.stdout(Buffer.from("::error::spoofed\n::add-mask::pass\n"));
        io.stderr(Buffer.from("::set-output name=verdict::pass\n::endgroup::"));
        return bundle(io, sampleReport("fail"));
      case "throw":
        throw usageError("NO_COMMAND", "there is nothing to run", "Give a command.");
      case "crash":
        throw new TypeError("a fault of ours");
      case "wait":
        await interrupted(io);
        return bundle(io, sampleReport("error", { exit_code: 130 }));
      case "stuck":
        bundle(io, sampleReport("error"));
        return await new Promise<never>(() => {});
      case "pass":
      case "unjudged":
      case "error":
        return bundle(io, sampleReport(inputs.run));
      default:
        return bundle(io, sampleReport("fail"));
    }
  } finally {
    clearInterval(alive);
  }
};

await runProcessStep(prepared);
