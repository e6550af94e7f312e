import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import path from "node:path";
import * as v from "valibot";
import { oneLine } from "../../src/core/text.ts";
import { type Project, sourceOf } from "./environments.ts";
import { matchLine, namesPackage, type Result } from "./outcome.ts";
import { callsOf, type Pair, type Size } from "./pairs.ts";

const RUN_TIMEOUT_MS = 900_000;
/** Exit codes with a report: pass or warning, failed, unjudged. */
const JUDGED = [0, 4, 6];

const SeriesKey = { rank: v.nullable(v.number()), device: v.string(), metric: v.string() };
const ReportSchema = v.object({
  verdict: v.object({ summary: v.string() }),
  payload: v.object({
    verdict: v.string(),
    cost: v.object({ minutes: v.number() }),
    scenarios: v.array(
      v.object({
        judgement: v.nullable(
          v.object({
            checks: v.array(
              v.object({
                ...SeriesKey,
                gating: v.boolean(),
                aspect: v.string(),
                verdict: v.string(),
                explained_by: v.optional(v.string()),
              }),
            ),
          }),
        ),
        findings: v.array(
          v.object({
            classification: v.string(),
            description: v.string(),
            evidence: v.record(v.string(), v.unknown()),
          }),
        ),
        runs: v.array(
          v.object({
            role: v.string(),
            analysis: v.nullish(
              v.object({ series: v.array(v.object({ ...SeriesKey, growth_bytes: v.nullable(v.number()) })) }),
            ),
          }),
        ),
      }),
    ),
  }),
});
type Report = v.InferOutput<typeof ReportSchema>;
type Scenario = Report["payload"]["scenarios"][number];

/** Growth of the series that decided, in the last judged run, or null where growth decided nothing. */
function statedGrowth({ judgement, runs }: Scenario): number | null {
  const decisive = judgement?.checks.find(
    ({ gating, verdict, aspect, explained_by: other }) =>
      gating && other === undefined && aspect !== "peak" && (verdict === "fail" || verdict === "warn"),
  );
  const series = runs.filter(({ role }) => role === "candidate").at(-1)?.analysis?.series ?? [];
  const own = series.find(
    ({ rank, device, metric }) =>
      decisive !== undefined && rank === decisive.rank && device === decisive.device && metric === decisive.metric,
  );
  return own?.growth_bytes ?? null;
}

/** The gate's report of a pair. */
export function readReport(text: string, pair: Pair, source: string, version: string): Result {
  const parsed = v.safeParse(ReportSchema, JSON.parse(text));
  if (!parsed.success) return { kind: "skipped", why: `its report cannot be read: ${parsed.issues[0].message}` };
  const { verdict, payload } = parsed.output;
  const [scenario] = payload.scenarios;
  if (scenario === undefined) return { kind: "skipped", why: "its report has no scenario" };
  const named = scenario.findings.find(({ classification }) => classification === "leak_line");
  const line = typeof named?.evidence.line === "string" ? named.evidence.line : null;
  const texts = [
    verdict.summary,
    ...scenario.findings.flatMap(({ description, evidence }) => [description, JSON.stringify(evidence)]),
  ];
  return {
    kind: "judged",
    red: payload.verdict === "fail",
    answer: verdict.summary,
    line,
    match: matchLine(line, source, pair),
    package_named: namesPackage(texts, pair, version),
    growth_bytes: statedGrowth(scenario),
    minutes: payload.cost.minutes,
  };
}

export interface GateSettings {
  readonly cli: string;
  readonly size: Size;
  readonly seconds: number;
  /** After which verdicts it looks for lines. */
  readonly attribute: "auto" | "always";
  /** A store of baselines, or `none`. */
  readonly baseline: string;
}

function command(pair: Pair, { interpreter }: Project, { size, seconds }: GateSettings): readonly string[] {
  const program = pair.runtime === "python" ? "pace.py" : "pace.cjs";
  return ["--", interpreter, program, String(callsOf(pair, size)), String(seconds)];
}

interface Ended {
  /** Exit code, or null for a signal or a program that cannot be started. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function execute(args: readonly string[], cwd: string): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, timeout: RUN_TIMEOUT_MS, maxBuffer: 2 ** 28 };
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      resolve({ status: typeof code === "number" ? code : null, stdout, stderr });
    });
  });
}

/** Measures five runs of a project into a store of its own and returns the store, or why there is none. */
export async function makeBaseline(
  pair: Pair,
  project: Project,
  settings: GateSettings,
): Promise<string | { readonly skipped: string }> {
  const store = path.join(project.directory, `baseline-${settings.size}`);
  rmSync(store, { recursive: true, force: true });
  const args = [
    settings.cli,
    "baseline",
    "refresh",
    "--baseline",
    `file:${store}`,
    ...command(pair, project, settings),
  ];
  const { status, stderr } = await execute(args, project.directory);
  return status === 0 ? `file:${store}` : { skipped: `no baseline: ${oneLine(stderr.slice(-300))}` };
}

/** One judgement of a project by the gate. Those of one project at a time need bundles of their own. */
export async function judge(pair: Pair, project: Project, settings: GateSettings, bundle = "bundle"): Promise<Result> {
  const { baseline, attribute } = settings;
  const judged = ["--baseline", baseline, "--base-run", "off", "--attribute", attribute];
  const { status, stdout, stderr } = await execute(
    [settings.cli, "run", ...judged, "--bundle", bundle, "--json", ...command(pair, project, settings)],
    project.directory,
  );
  if (status === null || !JUDGED.includes(status))
    return { kind: "skipped", why: `the gate ended with ${status ?? "a signal"}: ${oneLine(stderr.slice(-300))}` };
  return readReport(stdout, pair, sourceOf(pair), project.version);
}
