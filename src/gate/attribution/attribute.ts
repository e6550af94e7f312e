import path from "node:path";
import type { Finding } from "../../analysis/document.ts";
import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import { probeDirectory } from "../../core/probe-directory.ts";
import type { Judgement } from "../../verdict/judgement.ts";
import type { FinishedRun, Ran, RunPlan } from "../one-run.ts";
import { attributionEnvironment, attributionTimes, attributionWanted } from "./attribution-plan.ts";
import { growingLines } from "./growing-lines.ts";

/** The scenario whose growth is attributed to lines, and the way to run it once more. */
export interface AttributionSubject {
  readonly request: GateRequest;
  readonly scenario: ScenarioRequest;
  /** The newest run of the candidate. */
  readonly judged: FinishedRun;
  readonly judgement: Judgement;
  /** Why no run may begin now; null when one may. */
  readonly noMore: () => string | null;
  readonly run: (plan: Pick<RunPlan, "number" | "env">) => Promise<Ran>;
  readonly log: (line: string) => void;
  readonly warn: (note: string) => void;
}

/** Run the candidate with attribution on. @returns findings that name lines, the largest growth first, or none */
export async function attributeGrowth(subject: AttributionSubject): Promise<readonly Finding[]> {
  const { request, scenario, judged, judgement, warn } = subject;
  if (!attributionWanted(request.attribute, judgement, judged.analysis)) return [];
  const none = (note: string): readonly Finding[] => {
    warn(note);
    return [];
  };
  const stop = subject.noMore();
  if (stop !== null) return none(`${stop}, so no line was looked for`);
  const times = judged.recording === null ? null : attributionTimes(judged.recording, judged.info.clock.duration_s);
  if (times === null) return none("the run is too short to find the line that grows");
  subject.log(`${scenario.name}: running once more to find the line that grows`);
  const env = attributionEnvironment(
    times,
    path.join(probeDirectory(), "node", "attribute.cjs"),
    scenario.env.NODE_OPTIONS ?? request.env.NODE_OPTIONS,
  );
  const ran = await subject.run({ number: 1, env });
  if (ran.kind === "stopped") return none(`${ran.reason}, so the search for the line was ended`);
  const { finished } = ran;
  if (finished.ending.kind === "failed") warn(`with attribution on ${finished.ending.message}`);
  const found = await growingLines({
    directory: finished.directory,
    cwd: scenario.cwd,
    probe: finished.info.probe,
    severity: judgement.verdict === "fail" ? "critical" : "warning",
  });
  for (const note of found.notes) warn(note);
  return found.findings;
}
