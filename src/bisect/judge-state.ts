import path from "node:path";
import { openFileStore } from "../baseline/file-store.ts";
import type { GateRequest } from "../config/gate-request.ts";
import { GateError } from "../core/errors.ts";
import type { Environment } from "../core/process/environment.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import { refreshScenario } from "../gate/refresh.ts";
import { runGate } from "../gate/run-gate.ts";
import { answerSentence } from "../report/headline/sentence.ts";
import { DEFAULT_POLICY } from "../verdict/model/defaults.ts";

/** A state that can be run. */
export interface PreparedState {
  readonly cwd: string;
  readonly env: Environment;
}

/** The gate's verdict on a state. */
export interface StateVerdict {
  readonly verdict: "pass" | "warn" | "fail" | "unjudged" | "error";
  readonly sentence: string;
  readonly bundle: string;
}

/** Judges states of one search; the tests have a simulated one. */
export interface StateJudge {
  /** Judge a state by itself, then measure it as the baseline of all others. */
  readonly good: (state: PreparedState, bundle: string) => Promise<StateVerdict>;
  /** Judge another state; `named` searches the line as well, which is paid for once, at the bad end. */
  readonly other: (state: PreparedState, bundle: string, named: boolean) => Promise<StateVerdict>;
}

/** The request of one state: what to measure where, against which baselines, with evidence in `bundle`. */
export type RequestFor = (state: PreparedState, bundle: string, baselines: readonly string[]) => GateRequest;

/** The engine of `run`, with the good state as the baseline of the same session. */
export function gateJudge(directory: string, requestFor: RequestFor, ports: GatePorts): StateJudge {
  const store = path.join(directory, "baseline");
  const judge = async (request: GateRequest): Promise<StateVerdict> => {
    const { report, bundleError } = await runGate(request, ports);
    if (bundleError !== null) throw bundleError;
    const [scenario] = report.scenarios;
    const sentence = scenario === undefined ? "nothing was measured" : answerSentence(scenario);
    return { verdict: report.verdict, sentence, bundle: request.bundle };
  };
  return {
    good: async (state, bundle) => {
      const judged = await judge(requestFor(state, bundle, []));
      if (judged.verdict === "fail" || judged.verdict === "error" || ports.interrupt.aborted) return judged;
      const request = requestFor(state, bundle, []);
      const [scenario] = request.scenarios;
      if (scenario === undefined) throw new GateError("NOTHING_MEASURED", "there is nothing to run");
      const baseline = openFileStore(`file:${store}`, store);
      const runs = DEFAULT_POLICY.minBaselineRuns;
      await refreshScenario(request, scenario, { runs, store: baseline }, ports);
      // By itself there is nothing that it could be judged by.
      return judged.verdict === "unjudged" ? { ...judged, sentence: `${runs} runs are the baseline` } : judged;
    },
    other: (state, bundle, named) => {
      const request = requestFor(state, bundle, [`file:${store}`]);
      return judge(named ? request : { ...request, attribute: "off" });
    },
  };
}
