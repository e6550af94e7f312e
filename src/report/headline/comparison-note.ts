import type { ScenarioReport } from "../model/gate-report.ts";

/**
 * How the baseline was measured, where that differs: "compared with a baseline of another command: python3 train.py
 * --steps 200". Null when it does not differ or is not known. Not escaped: the command is outside text.
 */
export function comparisonNote({ judgement }: ScenarioReport): string | null {
  const differences = judgement?.fingerprint ?? [];
  const command = differences.find(({ field }) => field === "command");
  const steps = differences.find(({ field }) => field === "steps");
  const made = steps === undefined ? "" : `${steps.baseline} steps there, ${steps.candidate} here`;
  if (command !== undefined) {
    const how =
      otherArguments(String(command.baseline), String(command.candidate)) ?? `of another command: ${command.baseline}`;
    return `compared with a baseline ${how}${made === "" ? "" : ` (${made})`}`;
  }
  return steps === undefined ? null : `compared with a baseline of another length: ${made}`;
}

const isOption = (word: string | undefined): boolean => word?.startsWith("-") === true;

/** "of other arguments: …": what differs between the arguments of one program; null for two programs. */
function otherArguments(baseline: string, candidate: string): string | null {
  const [before, here] = [baseline.split(" "), candidate.split(" ")];
  const least = Math.min(before.length, here.length);
  let from = 0;
  while (from < least && before[from] === here[from]) from += 1;
  // Of an interpreter the script is part of the program.
  if (from === 0 || (from === 1 && !isOption(before[1] ?? here[1]))) return null;
  let tail = 0;
  while (tail < least - from && before.at(-1 - tail) === here.at(-1 - tail)) tail += 1;
  // A value means nothing without its option.
  if (from > 1 && isOption(before[from - 1]) && !isOption(before[from]) && !isOption(here[from])) from -= 1;
  const then = before.slice(from, before.length - tail).join(" ");
  const now = here.slice(from, here.length - tail).join(" ");
  if (then === "") return `without "${now}"`;
  return now === "" ? `with "${then}", which is missing here` : `of other arguments: "${then}" there, "${now}" here`;
}
