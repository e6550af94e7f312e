import { shellWord } from "../core/shell-word.ts";
import type { Invocation } from "./command.ts";
import { shownPath } from "./shown-path.ts";

/** Longer commands, as programs of many lines after `-c`, are not repeated. */
const MAX_COMMAND = 400;

function commandText(rest: readonly string[]): string {
  const text = rest.map(shellWord).join(" ");
  return text.length > MAX_COMMAND ? "COMMAND" : text;
}

/** The commands a report proposes, complete: with the bundle, the store and the measured command of this invocation. */
export function nextCommands(
  { text, lists, rest }: Pick<Invocation, "text" | "lists" | "rest">,
  bundleDir: string,
  program = "stormlog-gate",
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
  const scenario = text.scenario === undefined ? [] : ["--scenario", shellWord(text.scenario)];
  const bundle = shellWord(shownPath(bundleDir));
  const command = rest === null ? [] : ["--", commandText(rest)];
  const given = [
    ...Object.entries(text),
    ...Object.entries(lists).flatMap(([name, all]) => all.map((one) => [name, one])),
  ];
  const same = given.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, shellWord(value)]));
  return {
    accept: [program, "baseline accept", bundle, ...options].join(" "),
    refresh: [program, "baseline refresh", ...options, ...scenario, ...command].join(" "),
    show: [program, "show", bundle].join(" "),
    run: [program, "run", ...same, ...command].join(" "),
  };
}
