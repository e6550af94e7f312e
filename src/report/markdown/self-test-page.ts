import { formatBytes } from "../../core/units.ts";
import { type Tally, tallyText } from "../../stats/wilson.ts";
import { md, table } from "./markdown-text.ts";

/** One try of the self-test, as the page shows it. */
export interface ShownTrial {
  readonly time: string;
  readonly scenario: string;
  readonly kind: "canary" | "peak" | "growth";
  readonly failed: boolean;
  readonly injected_bytes: number;
  readonly metric: string;
  readonly runs: number;
}

const KINDS = { canary: "unchanged program", peak: "injected peak", growth: "injected growth" } as const;

export function tallyOf(trials: readonly ShownTrial[], kinds: readonly ShownTrial["kind"][]): Tally {
  const counted = trials.filter(({ kind }) => kinds.includes(kind));
  return { hits: counted.filter(({ failed }) => failed).length, tries: counted.length };
}

function resultText({ kind, failed }: ShownTrial): string {
  if (kind === "canary") return failed ? "**false alarm**" : "no alarm";
  return failed ? "found" : "**missed**";
}

/** The page behind the self-test's badge: the newest tries, and the counts with their intervals. */
export function selfTestPage(trials: readonly ShownTrial[]): string {
  const rows = (["canary", "peak", "growth"] as const).map((kind) => [
    KINDS[kind],
    kind === "canary" ? "false alarms" : "found",
    tallyText(tallyOf(trials, [kind])),
  ]);
  const newest = trials.slice(-60).reverse();
  const history = newest.map((trial) => [
    md(trial.time),
    md(trial.scenario, 60),
    KINDS[trial.kind],
    trial.kind === "canary" ? "" : formatBytes(trial.injected_bytes),
    md(trial.metric, 40),
    String(trial.runs),
    resultText(trial),
  ]);
  return [
    "# Self-test of the memory gate",
    "",
    "Each nightly run tests the gate itself. An unchanged program must not fail. The same program must fail while additional memory of",
    "1.5 times the smallest detectable change is allocated beside it. Counts, with 95 % Wilson intervals:",
    "",
    table(["try", "counted", "result"], ["l", "l", "l"], rows),
    "",
    "Injected memory is allocated outside the program, so host memory is judged, even where a device's allocator gates.",
    "",
    `## The newest ${newest.length} tries`,
    "",
    table(
      ["time", "scenario", "try", "injected", "judged on", "runs", "result"],
      ["l", "l", "l", "r", "l", "r", "l"],
      history,
    ),
    "",
  ].join("\n");
}
