import { rm } from "node:fs/promises";
import path from "node:path";
import type { Measurements } from "../analysis/measurements.ts";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import type { Command } from "../core/process/command.ts";
import { temporaryDirectory } from "../core/temporary-directory.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import { type FinishedRun, oneRun } from "../gate/run/one-run.ts";
import { Cost } from "../gate/scenario/cost.ts";
import { judge } from "../verdict/judge.ts";
import type { Judgement } from "../verdict/model/judgement.ts";
import type { Policy } from "../verdict/model/policy.ts";

/** A change whose correct verdict is known, judged like any other. */
interface KnownChange {
  /** The command of the candidate. */
  readonly command: Command;
  /** The command of the baseline's commit, for base re-runs. */
  readonly baseCommand: Command;
  readonly baseline: Measurements;
  readonly policy: Policy;
  /** A separate session: the runs that made the baseline must not count as base re-runs. */
  readonly session: string;
  readonly commit: string | null;
}

export interface KnownChangeVerdict {
  readonly judgement: Judgement;
  readonly candidate: Measurements;
  /** Of the first candidate run, seconds. */
  readonly durationS: number;
  readonly runs: number;
}

/** One trial: the verdict, or why there is none. */
export type Try =
  | { readonly kind: "judged"; readonly verdict: KnownChangeVerdict }
  | { readonly kind: "none"; readonly reason: string };

/** Judge a known change by the whole procedure: first run, confirmation, base runs, limits. Its runs are deleted. */
export async function judgeKnownChange(
  request: GateRequest,
  scenario: ScenarioRequest,
  change: KnownChange,
  ports: GatePorts,
): Promise<Try> {
  const parent = await temporaryDirectory("stormlog-gate-self-test-").catch((error: Error) => error);
  if (typeof parent !== "string") return { kind: "none", reason: parent.message };
  try {
    return await attempt(request, scenario, change, parent, ports);
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
}

async function attempt(
  request: GateRequest,
  scenario: ScenarioRequest,
  change: KnownChange,
  parent: string,
  ports: GatePorts,
): Promise<Try> {
  const cost = new Cost(request, performance.now());
  const done: Record<"candidate" | "base", FinishedRun[]> = { candidate: [], base: [] };
  const run = async (role: "candidate" | "base"): Promise<string | null> => {
    const number = done[role].length + 1;
    const { session, commit } = change;
    const command = role === "base" ? change.baseCommand : change.command;
    const directory = path.join(parent, `${role}-${number}`);
    cost.add();
    const finished = await oneRun(
      request,
      scenario,
      { role, number, directory, command, cwd: scenario.cwd, session, commit },
      ports,
    );
    if (finished.ending.kind !== "ok")
      return finished.ending.kind === "failed" ? finished.ending.message : "it was interrupted";
    if (finished.measured === null) return "nothing could be measured";
    done[role].push(finished);
    return null;
  };
  const measuredOf = (role: "candidate" | "base") =>
    done[role].flatMap(({ measured }) => (measured === null ? [] : [measured]));
  let possible = true;
  let wanted: "candidate" | "base" = "candidate";
  for (;;) {
    const failed = await run(wanted);
    if (failed !== null) return { kind: "none", reason: failed };
    const stop = cost.exhausted(performance.now());
    if (stop !== null || ports.interrupt.aborted) possible = false;
    const candidate: Measurements = {
      scenario: scenario.name,
      // The wrapper around the command does not belong to its environment.
      fingerprint: change.baseline.fingerprint,
      runs: measuredOf("candidate"),
    };
    const judgement = judge({
      candidate,
      baseline: change.baseline,
      baseRuns: measuredOf("base"),
      anchor: null,
      policy: change.policy,
      baseRunsPossible: possible && request.baseRun.kind !== "off",
      moreRunsPossible: possible,
    });
    if (ports.interrupt.aborted) return { kind: "none", reason: "it was interrupted" };
    if (judgement.next.kind === "done") {
      const durationS = done.candidate[0]?.info.clock.duration_s ?? 0;
      return { kind: "judged", verdict: { judgement, candidate, durationS, runs: cost.runs } };
    }
    wanted = judgement.next.kind === "candidate-runs" ? "candidate" : "base";
  }
}
