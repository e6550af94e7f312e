import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Evidence, type JsonObject, results } from "./evidence.ts";
import { gateRun } from "./gate-run.ts";
import { type Machine, program } from "./machine.ts";
import { at } from "./reports.ts";
import type { Task } from "./tasks.ts";

const MODES = ["fraction", "caught", "whole"] as const;

/** What `oom/` has to hold for the failure to be understood without the machine. */
const WANTED = [
  { name: "oom.json", is: (name: string) => name === "oom.json" },
  { name: "window.parquet", is: (name: string) => name === "window.parquet" },
  { name: "traceback.txt", is: (name: string) => name === "traceback.txt" },
  { name: "output-tail.txt", is: (name: string) => name === "output-tail.txt" },
  { name: "the probe's record", is: (name: string) => /^\d+\.\d+\.oom\.\d+$/.test(name) },
  { name: "the allocator's snapshot", is: (name: string) => name.endsWith(".pickle") },
];

export function oomTasks(machine: Machine, evidence: Evidence): Task[] {
  return MODES.map((mode) => ({
    name: mode,
    seconds: machine.fake ? 8 : 90,
    run: () =>
      gateRun(
        machine,
        {
          evidence,
          keep: mode === "caught" ? null : mode,
          options: ["--scenario", `oom-${mode}`, "--baseline", "none", "--unjudged", "pass", "--attribute", "off"],
          command: [machine.python, program("oom.py"), mode, ...(machine.fake ? ["--small"] : [])],
          timeoutS: 120,
          env: machine.cudaEnv,
        },
        (bundle) => evidenceOf(path.join(bundle, "runs", `oom-${mode}`, "1")),
      ),
  }));
}

function evidenceOf(run: string): JsonObject {
  const directory = path.join(run, "oom");
  const names = existsSync(directory) ? readdirSync(directory) : [];
  const missing = WANTED.filter(({ is }) => !names.some(is)).map(({ name }) => name);
  const file = path.join(directory, "oom.json");
  const document: unknown = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null;
  const output = path.join(run, "output.log");
  return {
    evidence_missing: missing,
    evidence_complete: missing.length === 0,
    report: (document ?? null) as JsonObject | null,
    program_report: existsSync(output) ? lastReport(readFileSync(output, "utf8")) : null,
    exit: (at(JSON.parse(readFileSync(path.join(run, "recording.json"), "utf8")), "exit") ?? null) as JsonObject | null,
  };
}

function lastReport(output: string): JsonObject | null {
  const line = output.split("\n").find((one) => one.startsWith('{"held_bytes"'));
  return line === undefined ? null : (JSON.parse(line) as JsonObject);
}

export function oomSummary(evidence: Evidence): JsonObject {
  return Object.fromEntries(
    results(evidence, "").map(({ name, result }) => [
      name,
      {
        exit_code: result.exit_code ?? null,
        verdict: result.verdict ?? null,
        evidence_complete: result.evidence_complete ?? null,
        evidence_missing: result.evidence_missing ?? null,
      },
    ]),
  );
}
