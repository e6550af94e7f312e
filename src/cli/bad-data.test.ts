import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { AnalysisDocument } from "../analysis/series/document.ts";
import { GateError } from "../core/errors.ts";
import { COMMANDS, type CommandName } from "./commands/commands.ts";
import { PROGRAMS } from "./commands/programs.ts";
import { parseArguments } from "./console/command.ts";
import type { Console } from "./console/console.ts";

const MIB = 2 ** 20;
const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-bad-data-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const file = (name: string, text: string): string => {
  const full = path.join(directory, name);
  writeFileSync(full, text);
  return full;
};

/** Rows of a leak of 2 MiB a step that takes half a second a step. */
const rows = Array.from({ length: 300 }, (_, i) => ({ step: i, time: i / 2, bytes: 4000 * MIB + i * 2 * MIB }));
type Row = (typeof rows)[number];
const csv = (
  name: string,
  header: string,
  cells: (row: Row) => readonly unknown[],
  of: readonly Row[] = rows,
): string => file(name, `${header}\n${of.map((row) => cells(row).join(",")).join("\n")}\n`);
const STEP_TIME = "step,time_s,allocated_bytes";
const whole = ({ step, time, bytes }: Row) => [step, time, bytes];

/** A command's answer as a program would get it: the document, or the code of what was wrong. */
async function answer(
  name: "analyze" | "compare" | "judge",
  ...args: string[]
): Promise<{ exit: number; document: unknown; text: string }> {
  const spec = COMMANDS[name];
  if (spec === undefined) throw new Error(name);
  let document: unknown = null;
  let text = "";
  const console: Console = {
    json: true,
    color: false,
    quiet: false,
    width: 100,
    interactive: false,
    print: (line) => {
      text += `${line}\n`;
    },
    document: (value) => {
      document ??= value;
    },
    childOutput: () => () => {},
    progress: null,
  };
  try {
    const exit = await (await PROGRAMS[name as CommandName]())({ ...parseArguments(spec, args), argv: args, console });
    return { exit, document: JSON.parse(JSON.stringify(document)), text };
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    return { exit: error.exitCode, document: { error: error.code }, text };
  }
}

const analysis = async (...args: string[]): Promise<AnalysisDocument> =>
  (await answer("analyze", ...args)).document as AnalysisDocument;
const shown = ({ series }: AnalysisDocument) => series.map(({ rank, class: is, samples }) => [rank, is, samples]);
const kinds = ({ findings }: AnalysisDocument) => findings.map(({ classification }) => classification);

describe("analyze of odd data", () => {
  it.each([
    ["one sample", 1],
    ["two samples", 2],
    ["one sample too few", 23],
  ])("%s are insufficient, with their count", async (_, n) => {
    const document = await analysis(csv("few.csv", STEP_TIME, whole, rows.slice(0, n)));
    expect(shown(document)).toEqual([[0, "insufficient", n]]);
    expect(kinds(document)).toEqual(["insufficient_data"]);
    expect(document.findings[0]?.description).toMatch(new RegExp(`^allocated memory has ${n} usable sample`));
  });

  it("reports a series of NaN, placeholders and infinities as unavailable, with a count", async () => {
    const words = ["nan", "inf", "-Infinity", "", "[N/A]", "null"];
    const document = await analysis(csv("none.csv", STEP_TIME, ({ step, time }) => [step, time, words[step % 6]]));
    expect(shown(document)).toEqual([[0, "unavailable", 0]]);
    expect(document.missing).toEqual({ allocated_bytes: 300 });
    expect(kinds(document)).toEqual(["unavailable"]);
  });

  it("finds a leak with a third of its samples missing, and reports their count", async () => {
    const document = await analysis(
      csv("holes.csv", STEP_TIME, ({ step, time, bytes }) => [step, time, step % 3 === 0 ? "" : bytes]),
    );
    expect(shown(document)).toEqual([[0, "leak", 200]]);
    expect(document.missing).toEqual({ allocated_bytes: 100 });
  });

  it("reads equal time stamps, a clock that goes back and a step counter that restarts, and reports them", async () => {
    const equal = await analysis(csv("equal.csv", "time_s,allocated_bytes", ({ bytes }) => [7, bytes]));
    expect(shown(equal)).toEqual([[0, "leak", 300]]);
    expect(equal.notes?.join()).toContain("299 timestamps are not later");
    const back = await analysis(
      csv("back.csv", "time_s,allocated_bytes", ({ step, time, bytes }) => [step < 150 ? 60 + time : time, bytes]),
    );
    expect(back.notes?.join()).toContain("1 timestamps are not later");
    const restarted = await analysis(
      csv("restart.csv", "step,allocated_bytes", ({ step, bytes }) => [step % 60, bytes]),
    );
    expect(restarted.notes?.join()).toContain("runs backwards 4 times");
    expect(restarted.series[0]?.growth_bytes).toBeCloseTo(299 * 2 * MIB, -6);
  });

  it("does not report a memory counter that is reset as growth", async () => {
    const document = await analysis(
      csv("reset.csv", STEP_TIME, ({ step, time }) => [step, time, 4000 * MIB + (step % 100) * 2 * MIB]),
    );
    expect(["leak", "step", "plateau"]).not.toContain(document.series[0]?.class);
  });

  it("reports used memory above the total as pressure, and nothing when the total is unknown", async () => {
    const used = (total: string) => csv("used.csv", "step,used_bytes,total_bytes", ({ step }) => [step, 20e9, total]);
    expect(kinds(await analysis(used("16e9")))).toEqual(["pressure"]);
    expect(kinds(await analysis(used("")))).toEqual([]);
    expect(kinds(await analysis(used("0")))).toEqual([]);
  });

  it("ranks of different lengths, one that stops early, one that is missing: each is named", async () => {
    const ranks = [0, 1, 3].flatMap((rank) => rows.slice(0, rank === 1 ? 60 : 300).map((row) => ({ ...row, rank })));
    const text = ranks.map(({ rank, step, time, bytes }) => [rank, step, time, bytes].join(",")).join("\n");
    const document = await analysis(file("ranks.csv", `rank,${STEP_TIME}\n${text}\n`));
    expect(shown(document).map(([rank, , samples]) => [rank, samples])).toEqual([
      [0, 300],
      [1, 60],
      [3, 300],
    ]);
    expect(document.ranks.missing_ranks).toEqual([2]);
    const early = document.findings.filter(({ classification }) => classification === "rank_ended_early");
    expect(early.map(({ rank }) => rank)).toEqual([1]);
    expect(early[0]?.description).toContain("59 of the 299 steps");
  });

  it("shuffled rows give the answer of ordered ones, shards that of either order", async () => {
    const ordered = await analysis(csv("ordered.csv", STEP_TIME, whole));
    const shuffled = await analysis(
      csv(
        "shuffled.csv",
        STEP_TIME,
        whole,
        rows.map((_, i) => rows[(i * 77) % 300] as Row),
      ),
    );
    expect(shuffled.series).toEqual(ordered.series);
    const a = csv("a.csv", `rank,${STEP_TIME}`, (row) => [0, ...whole(row)]);
    const b = csv("b.csv", `rank,${STEP_TIME}`, (row) => [1, ...whole(row)]);
    expect(await analysis(b, a)).toEqual(await analysis(a, b));
    expect(await answer("analyze", a, a)).toMatchObject({ exit: 5, document: { error: "RANK_CLASH" } });
  });

  it("finds a leak from every second sample, from time instead of steps, and without an axis", async () => {
    const files = [
      csv(
        "half.csv",
        STEP_TIME,
        whole,
        rows.filter(({ step }) => step % 2 === 0),
      ),
      csv("time.csv", "time_s,allocated_bytes", ({ time, bytes }) => [time, bytes]),
      csv("plain.csv", "allocated_bytes", ({ bytes }) => [bytes]),
    ];
    for (const one of files) {
      const { series } = await analysis(one);
      expect(series[0]?.class).toBe("leak");
      expect((series[0]?.growth_bytes ?? 0) / (598 * MIB)).toBeCloseTo(1, 1);
    }
  });

  it("the largest exact number is read", async () => {
    const document = await analysis(csv("largest.csv", STEP_TIME, ({ step, time }) => [step, time, 2 ** 53 - 1]));
    expect(document.series[0]).toMatchObject({ class: "flat", peak_bytes: 2 ** 53 - 1 });
  });

  it.each([
    ["an empty file", "", "INPUT_EMPTY"],
    ["a header alone", `${STEP_TIME}\n`, "INPUT_EMPTY"],
    ["a negative size", `${STEP_TIME}\n0,0,5\n1,1,-5\n`, "NEGATIVE_BYTES"],
    ["a size beyond whole numbers", `${STEP_TIME}\n0,0,18446744073709551615\n`, "BYTES_TOO_LARGE"],
    ["units where none belong", `${STEP_TIME}\n0,0,5 MiB\n1,1,5\n`, "CSV_NOT_A_NUMBER"],
    ["a negative time", `${STEP_TIME}\n0,-1,5\n`, "TIMESTAMP_INVALID"],
    ["half a rank", `rank,${STEP_TIME}\n0.5,0,0,5\n`, "RANK_INVALID"],
    ["a row cut in two", `${STEP_TIME}\n0,0,5\n1,1`, "INPUT_TRUNCATED"],
  ])("%s is invalid input", async (_, text, error) => {
    expect(await answer("analyze", file("bad.csv", text))).toMatchObject({ exit: 5, document: { error } });
  });
});

describe("a horizon", () => {
  const slow = () => csv("slow.csv", STEP_TIME, ({ step, time }) => [step, time, 4e9 + step * 1300]);

  it("a horizon in steps or hours makes a leak of growth that is flat without it", async () => {
    expect((await analysis(slow())).series[0]?.class).toBe("flat");
    for (const horizon of ["1000000", "1e6", "200h"])
      expect((await analysis(slow(), "--horizon", horizon)).series[0]?.class).toBe("leak");
  });

  it("a horizon is reported as unused where the series has no such axis", async () => {
    const timed = csv("timed.csv", "time_s,allocated_bytes", ({ time, step }) => [time, 4e9 + step * 1300]);
    const counted = csv("counted.csv", "step,allocated_bytes", ({ step }) => [step, 4e9 + step * 1300]);
    expect(kinds(await analysis(timed, "--horizon", "1000000"))).toContain("horizon_unused");
    expect(kinds(await analysis(counted, "--horizon", "20h"))).toContain("horizon_unused");
  });

  it.each(["0", "abc", "12H", "", "1e400", "0h", "NaN", "Infinity"])("%j is a usage error", async (horizon) => {
    for (const [spec, ...args] of [
      ["analyze", slow()],
      ["judge", "--candidate", slow()],
      ["compare", slow(), slow()],
    ] as const) {
      expect(await answer(spec, ...args, "--horizon", horizon)).toMatchObject({ exit: 2 });
    }
  });
});

describe("judge and compare of odd data", () => {
  const verdicts = ({ document }: { document: unknown }) =>
    document as { verdict: string; checks: { reason: string }[] };

  it("judge and compare never pass what has no value, or too few samples for a growth", async () => {
    const none = csv("nan.csv", STEP_TIME, ({ step, time }) => [step, time, "nan"]);
    const one = csv("one.csv", STEP_TIME, whole, rows.slice(0, 1));
    for (const candidate of [none, one]) {
      for (const args of [[], ["--baseline", candidate], ["--budget", "allocated=1GiB", "--baseline", none]]) {
        const result = await answer("judge", "--candidate", candidate, "--exit-code", ...args);
        expect(["unjudged", "fail"]).toContain(verdicts(result).verdict);
        expect(result.exit).not.toBe(0);
        for (const { reason } of verdicts(result).checks) expect(reason).not.toBe("");
      }
    }
    expect(verdicts(await answer("compare", none, one)).verdict).toBe("unjudged");
  });

  it("judge and compare name the file that cannot be read, whichever side it is", async () => {
    const good = csv("good.csv", STEP_TIME, whole);
    const empty = file("empty.csv", "");
    for (const sides of [
      [good, empty],
      [empty, good],
    ])
      expect(await answer("compare", ...sides)).toMatchObject({ exit: 5, document: { error: "INPUT_EMPTY" } });
  });

  it("judge and compare refuse budgets that are not sizes", async () => {
    const good = csv("good.csv", STEP_TIME, whole);
    for (const size of ["-5", "1e400", "many", ""])
      expect(await answer("judge", "--candidate", good, "--budget", `allocated=${size}`)).toMatchObject({
        exit: 2,
      });
  });
});
