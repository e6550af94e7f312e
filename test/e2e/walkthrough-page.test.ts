import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pageSteps } from "../../scripts/walkthrough-page.ts";
import { pythonWithTorch, WalkthroughFolder } from "../../scripts/walkthrough-run.ts";
import { packageRoot } from "../../src/core/package-root.ts";
import { parseSize } from "../../src/core/units.ts";

const PAGE = path.join(packageRoot(), "docs", "walkthrough.md");
const steps = pageSteps(readFileSync(PAGE, "utf8"));
const python = pythonWithTorch();
const PAGE_MS = 900_000;

/** Sizes of the page and of a run here may differ by so much: other versions of libraries, another allocator's state. */
const LARGEST_RATIO = 1.15;
const SMALLEST_BYTES = 6 * 2 ** 20;

const SIZE = /^[+-]?\d+(?:\.\d+)? (?:B|KiB|MiB|GiB)$/;
const bytes = (text: string): number => {
  const size = /^([+-]?)(.*)$/.exec(text);
  return (size?.[1] === "-" ? -1 : 1) * parseSize((size?.[2] ?? "").replace(" ", ""));
};

/** Rows of the tables in an output: cells are two blanks or more apart, the first one with its sign is the row's name. */
function rows(output: string): ReadonlyMap<string, readonly string[]> {
  const found = output.split("\n").flatMap((line): [string, readonly string[]][] => {
    const [name = "", ...cells] = line.trim().split(/ {2,}/);
    return cells.length < 2 || cells.every((cell) => !/\d|–|^[a-z]+$/.test(cell)) ? [] : [[name, cells]];
  });
  return new Map(found);
}

/** Which of the page's cells a run here does not reproduce. */
function differences(told: readonly string[], seen: readonly string[]): readonly string[] {
  return told.flatMap((cell, i) => {
    const other = seen[i] ?? "nothing";
    if (!SIZE.test(cell)) return cell === other ? [] : [`${cell} is ${other}`];
    const [a, b] = [bytes(cell), SIZE.test(other) ? bytes(other) : Number.NaN];
    const near = Math.abs(a - b) <= Math.max(SMALLEST_BYTES, Math.abs(a) * (LARGEST_RATIO - 1));
    return near ? [] : [`${cell} is ${other}`];
  });
}

/** What is the same in every run, word for word. */
const SAID: readonly (readonly [command: RegExp, said: readonly RegExp[]])[] = [
  [/--counters/, [/^step {2}60: .*bytes$/m, /^step 240: .*bytes$/m, /validation accuracy \d+\.\d+ %/]],
  [/baseline refresh/, [/5 runs, 1 session/]],
  [/--bundle baseline/, [/✓ PASS {2}walkthrough/]],
  [
    /--bundle leaky/,
    [
      /✗ FAIL {2}walkthrough/,
      /allocated on host leaks/,
      /leak-lab\/walkthrough\/train\.py:\d+ keeps \d+\.\d KiB|leak-lab\/walkthrough\/train\.py:\d+ keeps \d+/,
      /`hidden_cache` of DeviceTensorRetention, \d\d % of the growth/,
      /self\.hidden_cache\.append\(hidden\.detach\(\)\.clone\(\)\)/,
      /\(exit status 4\)$/,
    ],
  ],
  [
    /--bundle oom/,
    [
      /ran out of memory in 1 of 1 run/,
      /DefaultCPUAllocator|out of memory/i,
      /asked for \d+\.\d\d MiB/,
      /\(exit status 4\)$/,
    ],
  ],
  [/--bundle fixed/, [/✓ PASS {2}walkthrough/]],
  [/doctor/, [/Diagnose directory: diagnosis/]],
  [/compare fixed leaky/, [/✗ FAIL/]],
];
/** Made of numbers that are not measured: the same to the letter. */
const EXACT = /replay|^ls /;
/** Rows of a machine, not of the program. */
const OF_THE_MACHINE = /doctor/;

describe.skipIf(python === null)("the walkthrough's page, run as it stands", () => {
  const place = new WalkthroughFolder(python ?? "python3");
  const outputs = new Map<string, string>();

  beforeAll(() => {
    for (const { command } of steps) outputs.set(command, place.run(command));
  }, PAGE_MS);
  afterAll(() => place.remove());

  const seen = (command: string): string => outputs.get(command) ?? "";
  const words = (text: string, said: RegExp): string =>
    said.exec(text.replace(/\s*\n\s+/g, " "))?.[0] ?? said.exec(text)?.[0] ?? "";

  it("has all its steps", () => {
    expect(steps.length).toBeGreaterThanOrEqual(12);
    expect(SAID.map(([command]) => steps.filter((step) => command.test(step.command)).length)).not.toContain(0);
  });

  it.each(steps.filter(({ command }) => EXACT.test(command)))("prints the same to the letter: $command", (step) => {
    expect(seen(step.command)).toBe(step.output);
  });

  it.each(steps.filter(({ command }) => !EXACT.test(command) && !OF_THE_MACHINE.test(command)))(
    "has the rows of the page, within 15 % or 6 MiB: $command",
    ({ command, output }) => {
      const here = rows(seen(command));
      for (const [name, cells] of rows(output))
        expect(differences(cells, here.get(name) ?? []), `${name}\n${seen(command)}`).toEqual([]);
    },
  );

  it.each(SAID)("says what the page says: %s", (of, said) => {
    const step = steps.find(({ command }) => of.test(command));
    const [told, here] = [step?.output ?? "", seen(step?.command ?? "")];
    for (const pattern of said) {
      expect(words(told, pattern), `the page: ${pattern}`).not.toBe("");
      expect(words(here, pattern), `${pattern} in\n${here}`).not.toBe("");
    }
  });

  it("names the same line of the leak as the page", () => {
    const step = steps.find(({ command }) => command.includes("--bundle leaky"));
    const line = /train\.py:\d+ keeps \S+ \S+/;
    const [told, here] = [words(step?.output ?? "", line), words(seen(step?.command ?? ""), line)];
    expect(here.split(" ")[0]).toBe(told.split(" ")[0]);
    const kept = (text: string): number => bytes(text.split(" ").slice(2).join(" "));
    expect(kept(here) / kept(told)).toBeGreaterThan(0.9);
    expect(kept(here) / kept(told)).toBeLessThan(1.1);
  });
});
