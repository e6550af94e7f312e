import type { Measurements } from "../../analysis/measurements.ts";
import { parseHorizon } from "../../config/options.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { plural } from "../../core/text.ts";
import { judgeableInput } from "../../inputs/measurements-input.ts";
import { pairScenarios, unmeasured } from "../../inputs/scenario-pairs.ts";
import { isSnapshotFile } from "../../inputs/snapshot-input.ts";
import { renderComparisonTerminal } from "../../report/terminal/comparison-terminal.ts";
import { judge } from "../../verdict/judge.ts";
import { DEFAULT_POLICY } from "../../verdict/model/defaults.ts";
import type { Judgement } from "../../verdict/model/judgement.ts";
import { judgementDocument } from "../../verdict/model/judgement-document.ts";
import type { Invocation } from "../console/command.ts";
import { printAnswers, type ScenarioAnswer, unjudgedOption } from "./judge.ts";

/** What a reference of few runs leaves open: the differences are known, whether runs vary by as much is not. */
function withReference(judgement: Judgement, { runs }: Measurements): Judgement {
  const { minBaselineRuns } = DEFAULT_POLICY;
  // A mismatch of the environment, for instance, has its own reason.
  const judged = judgement.checks.some(({ limit, baseline_bytes }) => limit === "baseline" && baseline_bytes !== null);
  if (judgement.verdict !== "unjudged" || !judged || runs.length === 0 || runs.length >= minBaselineRuns)
    return judgement;
  const reason =
    `A has ${plural(runs.length, "run")}: ` +
    `${minBaselineRuns} are needed to know whether its own runs differ by as much`;
  return { ...judgement, reason };
}

export async function compare({ positionals, text, flags, console }: Invocation): Promise<number> {
  if (positionals.every(isSnapshotFile)) {
    const { compareSnapshots } = await import("./snapshot.ts");
    return compareSnapshots(positionals, process.cwd(), { flags, console });
  }
  const unjudged = unjudgedOption(text.unjudged);
  const [first, second] = positionals as [string, string];
  const inputs = { a: await judgeableInput(first), b: await judgeableInput(second) };
  const { pairs, notes } = pairScenarios(inputs.b, [inputs.a]);
  for (const note of new Set([...inputs.a.notes, ...inputs.b.notes, ...notes]))
    console.print(`note: ${escapeTerminal(note)}`);
  const policy = { ...DEFAULT_POLICY, horizon: text.horizon === undefined ? null : parseHorizon(text.horizon) };
  const answers = pairs.map(({ scenario, candidate: b, references }): ScenarioAnswer => {
    const a = references[0] ?? unmeasured(scenario);
    const judgement = withReference(
      judge({ candidate: b, baseline: a, anchor: null, policy, baseRunsPossible: false, moreRunsPossible: false }),
      a,
    );
    const sides = { a: { name: first, measurements: a }, b: { name: second, measurements: b } };
    return {
      scenario,
      judgement,
      document: {
        ...judgementDocument(judgement),
        a: { file: first, notes: inputs.a.notes, ...a },
        b: { file: second, notes: inputs.b.notes, ...b },
      },
      render: () => renderComparisonTerminal(sides, judgement, console),
    };
  });
  return printAnswers(answers, { console, flags }, unjudged);
}
