import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pageSteps } from "../../scripts/walkthrough-page.ts";
import { pythonWithTorch, WalkthroughDirectory } from "../../scripts/walkthrough-run.ts";
import { packageRoot } from "../../src/core/package-root.ts";
import { differences, rowsOf, sizeOf } from "./walkthrough-rows.ts";

const PAGE = path.join(packageRoot(), "docs", "walkthrough.md");
const steps = pageSteps(readFileSync(PAGE, "utf8"));
const python = pythonWithTorch();
const PAGE_MS = 900_000;

/** What is the same in every run, verbatim. */
const SAID: readonly (readonly [command: RegExp, said: readonly RegExp[]])[] = [
  [/--counters/, [/^step {2}60: .*bytes$/m, /^step 240: .*bytes$/m, /validation accuracy \d+\.\d+ %/]],
  [/baseline refresh/, [/5 runs, 1 session/]],
  [/--bundle baseline/, [/✓ PASS {2}walkthrough/]],
  [
    /--bundle leaky/,
    [
      /✗ FAIL {2}walkthrough {2}Leak of \d+ KiB a step at leak-lab\/walkthrough\/train\.py:\d+, confirmed in \d of \d runs/,
      /`hidden_cache` of DeviceTensorRetention, \d\d % of the growth/,
      /self\.hidden_cache\.append\(hidden\.detach\(\)\.clone\(\)\)/,
      /\(exit status 4\)$/,
    ],
  ],
  [
    /--bundle oom/,
    [
      /Ran out of memory in 1 of 1 run/,
      /DefaultCPUAllocator|out of memory/i,
      /asked for \d+\.\d\d MiB beside \d+ MiB/,
      /\(exit status 4\)$/,
    ],
  ],
  [/--bundle fixed/, [/✓ PASS {2}walkthrough/]],
  [/show -v leaky/, [/training +1 +[\d.]+ s +\d+\.\d\d MiB/, /validation +1 /]],
  [/doctor/, [/Diagnose directory: diagnosis/]],
  [/compare fixed leaky/, [/✗ FAIL/]],
];
/** Made of numbers that are not measured: the same to the letter. */
const EXACT = /replay|^ls /;
/** Rows of a machine, not of the program: how much a limit on the address space leaves depends on its cores. */
const OF_THE_MACHINE = /doctor|headroom/;

describe.skipIf(python === null)("the commands of the walkthrough's page", () => {
  const place = new WalkthroughDirectory(python ?? "python3");
  const outputs = new Map<string, string>();

  beforeAll(() => {
    for (const { command } of steps) outputs.set(command, place.run(command));
  }, PAGE_MS);
  afterAll(() => place.remove());

  const seen = (command: string): string => outputs.get(command) ?? "";
  const words = (text: string, said: RegExp): string =>
    said.exec(text.replace(/\s*\n\s+/g, " "))?.[0] ?? said.exec(text)?.[0] ?? "";

  it("the comparison of rows finds a different row", () => {
    const leaky = steps.find(({ command }) => command.includes("--bundle leaky"))?.output ?? "";
    const shown = rowsOf(leaky);
    expect([...shown.keys()]).toEqual(["allocated growth", "allocated peak"]);
    const wrong = rowsOf(leaky.replaceAll("MiB", "GiB").replaceAll("leak ", "flat "));
    for (const [name, cells] of shown) expect(differences(cells, wrong.get(name)), name).not.toEqual([]);
    expect(differences(["1.00 GiB"], undefined)).not.toEqual([]);
  });

  it("the walkthrough's page has all its steps", () => {
    expect(steps.length).toBeGreaterThanOrEqual(12);
    expect(SAID.map(([command]) => steps.filter((step) => command.test(step.command)).length)).not.toContain(0);
  });

  it.each(steps.filter(({ command }) => EXACT.test(command)))(
    "the output equals the page's to the letter: $command",
    (step) => {
      expect(seen(step.command)).toBe(step.output);
    },
  );

  it.each(
    steps.filter(
      ({ command, output }) => !EXACT.test(command) && !OF_THE_MACHINE.test(command) && rowsOf(output).size > 0,
    ),
  )("the printed rows match the page within 15 % or 6 MiB: $command", ({ command, output }) => {
    const here = rowsOf(seen(command));
    for (const [name, cells] of rowsOf(output))
      expect(differences(cells, here.get(name)), `${name}\n${seen(command)}`).toEqual([]);
  });

  it.each(SAID)("the output reports the same as the page: %s", (of, said) => {
    const step = steps.find(({ command }) => of.test(command));
    const [shown, here] = [step?.output ?? "", seen(step?.command ?? "")];
    for (const pattern of said) {
      expect(words(shown, pattern), `the page: ${pattern}`).not.toBe("");
      expect(words(here, pattern), `${pattern} in\n${here}`).not.toBe("");
    }
  });

  it("the run of the baseline's state has no finding", () => {
    const report = JSON.parse(readFileSync(path.join(place.directory, "baseline", "report.json"), "utf8"));
    expect(report.payload.scenarios[0].findings).toEqual([]);
  });

  it("names the same line of the leak as the page", () => {
    const step = steps.find(({ command }) => command.includes("--bundle leaky"));
    const line = /Leak of (\S+ \S+) a step at (\S+),/;
    const parts = (text: string) => line.exec(text.replace(/\s+/g, " ")) ?? [];
    const [, shownSize = "", shownLine] = parts(step?.output ?? "");
    const [, hereSize = "", hereLine] = parts(seen(step?.command ?? ""));
    expect(hereLine).toBe(shownLine);
    expect(sizeOf(hereSize) / sizeOf(shownSize)).toBeGreaterThan(0.9);
    expect(sizeOf(hereSize) / sizeOf(shownSize)).toBeLessThan(1.1);
  });
});
