import { shellWord } from "../../core/escape.ts";
import type { ScenarioReport } from "../../report/model/gate-report.ts";
import type { Invocation } from "./command.ts";
import { shownPath } from "./program.ts";

function commandText(rest: readonly string[]): string {
  const text = rest.map(shellWord).join(" ");
  // Longer commands, as programs of many lines after `-c`, are not repeated.
  return text.length > 400 ? "COMMAND" : text;
}

/** What the commands are about, where that is not everything this invocation measured. */
interface About {
  /** The only one of several scenarios. */
  readonly scenario?: string | undefined;
  /** Options of `run` that are given another value. */
  readonly limits?: Readonly<Record<string, string>>;
}

/** The limit of `run` that ended a judgement early, raised so that the missing runs fit; nothing without one. */
export function limitsFor({
  runs,
  judgement,
}: Pick<ScenarioReport, "runs" | "judgement">): Readonly<Record<string, string>> {
  const next = judgement?.next;
  if (judgement == null || next === undefined || next.kind === "done") return {};
  const [, limit, unit] = /^the limit of ([\d.]+) (runs|minutes) is reached/.exec(judgement.reason) ?? [];
  const needed = runs.length + next.runs;
  if (unit === "runs") return { "max-runs": String(needed) };
  // A run that the limit cut takes longer than its share.
  return unit === "minutes" ? { "max-minutes": String(Math.ceil((Number(limit) * (needed + 1)) / runs.length)) } : {};
}

/** The commands a report proposes, complete: with the bundle, the store and the measured command of this invocation. */
export function nextCommands(
  { text, lists, rest }: Pick<Invocation, "text" | "lists" | "rest">,
  /** The bundle of this invocation. */
  bundleDir: string,
  program = "stormlog-gate",
  about: About = {},
): {
  readonly accept: string;
  readonly refresh: string;
  readonly show: string;
  /** This invocation again, for more options behind `run`. */
  readonly run: string;
} {
  const store = lists.baseline?.find((spec) => /^(file|ref):./.test(spec));
  const options = [
    ...(text.config === undefined ? [] : ["--config", shellWord(text.config)]),
    ...(store === undefined ? [] : ["--baseline", shellWord(store)]),
  ];
  // The scenarios that `--vary` makes have names that only `--vary` makes again.
  const varied = text.vary === undefined ? [] : ["--vary", shellWord(text.vary)];
  const only = about.scenario === undefined ? [] : ["--scenario", shellWord(about.scenario)];
  const given = text.scenario === undefined ? [] : ["--scenario", shellWord(text.scenario)];
  const one = text.scenario === undefined ? only : ["--scenario", shellWord(about.scenario ?? text.scenario)];
  const scenario = varied.length > 0 ? [...given, ...varied] : one;
  const bundle = shellWord(shownPath(bundleDir));
  const command = rest === null ? [] : ["--", commandText(rest)];
  const repeated = [
    ...Object.entries({
      ...text,
      ...(about.scenario === undefined || varied.length > 0 ? {} : { scenario: about.scenario }),
      ...about.limits,
    }),
    ...Object.entries(lists).flatMap(([name, all]) => all.map((one) => [name, one])),
  ];
  const same = repeated.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, shellWord(value)]));
  return {
    accept: [program, "baseline accept", bundle, ...only, ...options].join(" "),
    refresh: [program, "baseline refresh", ...options, ...scenario, ...command].join(" "),
    show: [program, "show", bundle].join(" "),
    run: [program, "run", ...same, ...command].join(" "),
  };
}
