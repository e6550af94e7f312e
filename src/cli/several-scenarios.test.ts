import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { GateError } from "../core/errors.ts";
import { COMMANDS } from "./commands/commands.ts";
import { PROGRAMS } from "./commands/programs.ts";
import { parseArguments } from "./console/command.ts";
import type { Console } from "./console/console.ts";

const MIB = 2 ** 20;
const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-scenarios-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const measurements = (scenario: string, mib: number, runs = 5) => ({
  schema: "stormlog.measurements/1",
  scenario,
  runs: Array.from({ length: runs }, (_, run) => ({
    session: `${scenario}-${mib}`,
    series: [{ rank: 0, device: "host", metric: "host", peak_bytes: (mib + run / 100) * MIB }],
  })),
});

function write(name: string, content: object): string {
  const full = path.join(directory, name);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, JSON.stringify(content));
  return full;
}

/** A bundle with the peaks of its scenarios in MiB, the worst scenario first, as `run` writes one. */
function bundle(name: string, scenarios: Readonly<Record<string, number>>): string {
  const all = Object.entries(scenarios);
  const [worst] = all;
  if (worst === undefined) throw new Error("a bundle has a scenario");
  write(`${name}/measurements.json`, measurements(...worst));
  if (all.length > 1) for (const one of all) write(`${name}/runs/${one[0]}/measurements.json`, measurements(...one));
  return path.join(directory, name);
}

interface Answer {
  readonly exit: number;
  readonly document: {
    readonly verdict?: string;
    readonly scenario?: string;
    readonly scenarios?: readonly { readonly scenario: string; readonly verdict: string }[];
    readonly a?: { readonly scenario: string };
    readonly b?: { readonly scenario: string };
  };
  readonly text: string;
  readonly error: GateError | null;
}

async function answer(name: "compare" | "judge", json: boolean, ...args: string[]): Promise<Answer> {
  let document: unknown = {};
  const lines: string[] = [];
  const console: Console = {
    json,
    color: false,
    quiet: false,
    width: 100,
    interactive: false,
    print: (line) => lines.push(line),
    document: (value) => {
      document = value;
    },
    childOutput: () => () => {},
    progress: null,
  };
  const done = (exit: number, error: GateError | null): Answer => ({
    exit,
    document: JSON.parse(JSON.stringify(document)),
    text: lines.join("\n"),
    error,
  });
  try {
    const parsed = parseArguments(COMMANDS[name]!, [...args, "--exit-code"]);
    return done(await (await PROGRAMS[name]())({ ...parsed, argv: args, console }), null);
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    return done(error.exitCode, error);
  }
}

const before = bundle("before", { small: 20, big: 60 });
const doubled = bundle("doubled", { small: 20, big: 120 });
const same = bundle("same", { big: 60, small: 20 });

/** Both commands on two sides: A or the baseline, then B or the candidate. */
const both = (a: string, b: string): readonly (readonly ["compare" | "judge", readonly string[]])[] => [
  ["compare", [a, b]],
  ["judge", ["--baseline", a, "--candidate", b]],
];

it.each(both(before, doubled))("%s fails when any of several scenarios fails", async (name, args) => {
  const { exit, document } = await answer(name, true, ...args);
  expect(exit).toBe(4);
  expect(document).toMatchObject({ verdict: "fail", scenario: "big" });
  const verdicts = document.scenarios?.map(({ scenario, verdict }) => `${scenario} ${verdict}`);
  expect(new Set(verdicts)).toEqual(new Set(["small pass", "big fail"]));
  const { text } = await answer(name, false, ...args);
  const headings = text.split("\n").filter((line) => /^Scenario |scenarios:/.test(line));
  expect(headings).toEqual(["Scenario small", "Scenario big", "✗ FAIL  2 scenarios: 1 fail, 1 pass"]);
});

it.each(both(before, same))("%s pairs scenarios by name, whichever is the worst", async (name, args) => {
  const { exit, document } = await answer(name, true, ...args);
  expect([exit, document.verdict]).toEqual([0, "pass"]);
  expect(document.scenarios).toHaveLength(2);
});

it.each(both(before, write("one.json", measurements("big", 120))))(
  "%s of a file pairs it with its scenario in a bundle of several",
  async (name, args) => {
    const { exit, document } = await answer(name, true, ...args);
    expect([exit, document.verdict, document.scenarios]).toEqual([4, "fail", undefined]);
  },
);

it("compare names the other scenarios when a file chooses one of several", async () => {
  const { exit, text } = await answer("compare", false, write("big.json", measurements("big", 60)), doubled);
  expect(exit).toBe(4);
  expect(text).toContain(`${doubled} has the scenarios big, small: only big is judged, the scenario of `);
});

it.each([
  ...both(before, write("other.json", measurements("train", 60))),
  ...both(write("other.json", measurements("train", 60)), before),
])("%s refuses a file whose scenario is not in a bundle of several", async (name, args) => {
  const { exit, error } = await answer(name, true, ...args);
  expect([exit, error?.code]).toEqual([2, "SCENARIOS_DIFFER"]);
  expect(error?.message).toContain("has the scenarios big, small");
  expect(error?.hint).toContain(path.join(before, "runs/big/measurements.json"));
});

it.each([
  ...both(before, bundle("more", { small: 20, big: 60, third: 5 })),
  ...both(bundle("more", { small: 20, big: 60, third: 5 }), before),
])("%s does not pass when a scenario is on one side alone", async (name, args) => {
  const { exit, document } = await answer(name, true, ...args);
  expect([exit, document.verdict, document.scenario]).toEqual([6, "unjudged", "third"]);
  expect(document.scenarios).toHaveLength(3);
});

it("judge fails by a budget although another scenario is unjudged", async () => {
  const args = ["--candidate", doubled, "--budget", "host=100MiB"];
  expect(await answer("judge", true, ...args)).toMatchObject({ exit: 4, document: { scenario: "big" } });
});

it("judge pairs the anchor by name, and refuses one of a single scenario", async () => {
  const anchored = await answer("judge", true, "--candidate", same, "--baseline", before, "--anchor", before);
  expect(anchored).toMatchObject({ exit: 0, document: { scenarios: [{}, {}] } });
  const anchor = write("anchor.json", measurements("big", 60));
  const refused = await answer("judge", true, "--candidate", same, "--baseline", before, "--anchor", anchor);
  expect([refused.exit, refused.error?.code]).toEqual([2, "SCENARIOS_DIFFER"]);
});

it("a bundle whose worst scenario was never run has that scenario, too", async () => {
  const broken = bundle("broken", { small: 20, big: 60 });
  rmSync(path.join(broken, "runs", "small"), { recursive: true });
  const { document } = await answer("compare", true, before, broken);
  expect(document.scenarios?.map(({ scenario }) => scenario).sort()).toEqual(["big", "small"]);
});

it.each(both(bundle("x", { small: 20 }), bundle("y", { big: 20 })))(
  "%s of two bundles of one scenario each compares them whatever their names are",
  async (name, args) => {
    const { exit, document } = await answer(name, true, ...args);
    expect([exit, document.verdict]).toEqual([0, "pass"]);
    expect([document.scenario, document.scenarios]).toEqual([undefined, undefined]);
  },
);
