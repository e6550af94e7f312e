import { describe, expect, it } from "vitest";
import type { LinePackage } from "../../analysis/series/document.ts";
import { unattributed } from "../../report/headline/line-answer.ts";
import type { AttributedLine } from "../../snapshot/growth/attributed-line.ts";
import type { Attribution } from "../../snapshot/growth/attribution.ts";
import type { JudgedGrowth } from "../run/judged-growth.ts";
import { lineFinding, unattributedFinding } from "./line-finding.ts";
import { nameLines } from "./name-lines.ts";

const MIB = 2 ** 20;

function line(bytes: readonly number[], some: Partial<AttributedLine> = {}): AttributedLine {
  const growthBytes = (bytes.at(-1) ?? 0) - (bytes[0] ?? 0);
  return {
    file: "/repo/train.py",
    line: 18,
    function: "train",
    placed: "kept",
    user: true,
    device: "host",
    processes: ["1.0"],
    allocatedAt: null,
    keptBy: "the list `kept`",
    trend: "grows",
    bytesPerStep: growthBytes / 60,
    bytesPerSecond: null,
    growthBytes,
    bytes,
    countGrowth: 6,
    share: 1,
    stack: [],
    hint: null,
    ...some,
  };
}

const seen = (...lines: readonly AttributedLine[]): Attribution => ({
  lines: lines.filter(({ trend }) => trend !== "once"),
  jumps: lines.filter(({ trend }) => trend === "once"),
  devices: [{ device: "host", growthBytes: lines.reduce((sum, own) => sum + own.growthBytes, 0), explainedShare: 1 }],
  sources: ["tracemalloc"],
  notes: [],
});

const growth = (bytes: number, unit: "steps" | "seconds" = "steps"): JudgedGrowth => ({
  device: "host",
  metric: "host",
  stretch: { kind: "growth", unit, start: 0, onset: 30, end: 100, bytes },
  bytes,
  freed: null,
});
const jump: JudgedGrowth = {
  device: "host",
  metric: "host",
  stretch: { kind: "jump", unit: "steps", start: 0, before: 69, after: 71, end: 100, bytes: 50 * MIB },
  bytes: 50 * MIB,
  freed: null,
};
/** Moments over 60 of the 70 steps that were judged. */
const COVERED = { steps: 60, seconds: 60, slowdown: 1 };
const kindsOf = (attribution: Attribution, growths: readonly JudgedGrowth[]) =>
  nameLines(attribution, growths, COVERED).named.map(({ kind }) => kind);

const RISING = [0, 1, 2, 3, 4, 5, 6].map((n) => n * MIB);

describe("the line of a growth", () => {
  it("a line is named from a fifth of the verdict's growth on, mentioned from a twentieth, and else left out", () => {
    expect(kindsOf(seen(line(RISING)), [growth(7 * MIB)])).toEqual(["leak"]);
    expect(kindsOf(seen(line(RISING)), [growth(34 * MIB)])).toEqual(["leak"]);
    expect(kindsOf(seen(line(RISING)), [growth(36 * MIB)])).toEqual(["contributing"]);
    expect(kindsOf(seen(line(RISING)), [growth(150 * MIB)])).toEqual([]);
  });

  it("a line's share is that of the verdict's growth, not of what the attribution run measured", () => {
    // A native leak of 64 MiB beside a bounded cache that is 86 % of what the interpreter's own memory grew by.
    const cache = line([0, 4000, 8000, 12_000, 15_000, 18_000, 20_000], { share: 0.86 });
    const { named, unexplained } = nameLines(seen(cache), [growth(64 * MIB)], COVERED);
    expect(named).toEqual([]);
    expect(unexplained).toMatchObject([{ share: 1, memory: "native" }]);
  });

  it("a line rises from moment to moment, so that one jump and a cache that fills up are not leaks", () => {
    const everySecond = [0, 0, 2, 2, 4, 4, 6, 8].map((n) => n * MIB);
    expect(kindsOf(seen(line(everySecond)), [growth(8 * MIB)])).toEqual(["leak"]);
    expect(kindsOf(seen(line([0, 1, 2, 50 * MIB, 50 * MIB + 1, 50 * MIB + 2, 50 * MIB + 3])), [growth(MIB)])).toEqual(
      [],
    );
    expect(kindsOf(seen(line([0, 2 * MIB, 4 * MIB, 6 * MIB, 6 * MIB, 6 * MIB, 6 * MIB])), [growth(6 * MIB)])).toEqual(
      [],
    );
  });

  it("four moments suffice where a line rises evenly, as 86, 135, 167 and 200 MB do", () => {
    const few = (...values: number[]) => kindsOf(seen(line(values.map((mib) => mib * MIB))), [growth(100 * MIB)]);
    expect(few(86, 135, 167, 200)).toEqual(["leak"]);
    expect(few(86, 90, 195, 200)).toEqual([]);
    expect(few(86, 140, 200)).toEqual([]);
  });

  it("a line is not named where a pool fills by a few large buffers", () => {
    const pool = [213_533, 903_057, 3_000_724, 3_525_239, 3_590_296, 5_163_106, 5_163_922];
    expect(kindsOf(seen(line(pool)), [growth(5 * MIB)])).toEqual([]);
  });

  it("a line is not named when it stopped growing before the end", () => {
    const filled = [0, 2, 4, 6, 8, 8, 8].map((n) => n * MIB);
    expect(kindsOf(seen(line(filled)), [growth(8 * MIB)])).toEqual([]);
  });

  it("a line is not named where nothing was judged to grow, whatever the interpreter's memory did", () => {
    expect(kindsOf(seen(line(RISING)), [])).toEqual([]);
    expect(kindsOf(seen(line(RISING, { device: "cuda:0" })), [growth(7 * MIB)])).toEqual([]);
  });

  it("counts by the clock as much as the judged run did when attribution slows the program down", () => {
    const slow = line(RISING, { bytesPerStep: null, bytesPerSecond: MIB / 40 });
    const named = (slowdown: number) =>
      nameLines(seen(slow), [growth(7 * MIB, "seconds")], { ...COVERED, slowdown }).named[0]?.share;
    expect(named(1)).toBeCloseTo(0.25, 2);
    expect(named(4)).toBeCloseTo(1, 2);
  });

  it("lines have at most the whole growth together where the run was so slow that shares are estimates", () => {
    const slow = (line_: number, share: number) =>
      line(RISING, { line: line_, bytesPerStep: null, bytesPerSecond: (share * MIB) / 120 });
    const covered = { ...COVERED, slowdown: 12 };
    const { named, unexplained } = nameLines(
      seen(slow(1, 1), slow(2, 0.5), slow(3, 0.05)),
      [growth(7 * MIB, "seconds")],
      covered,
    );
    expect(named.map(({ kind, share }) => [kind, share.toFixed(2)])).toEqual([
      ["leak", "0.67"],
      ["leak", "0.33"],
    ]);
    expect(unexplained).toMatchObject([{ memory: "unknown" }]);
  });

  it("reports its part of the verdict's growth in the verdict's unit", () => {
    const { named } = nameLines(seen(line(RISING)), [growth(14 * MIB)], COVERED);
    const [first] = named;
    if (first === undefined) throw new Error("no line");
    const finding = lineFinding(first, { root: "/repo", severity: "critical", rank: null, code: null, package: null });
    expect(finding.classification).toBe("leak_line");
    expect(finding.evidence).toMatchObject({ growth_bytes: 7 * MIB, bytes_per_step: MIB / 10, bytes_per_s: null });
    expect(finding.evidence.share).toBeCloseTo(0.5, 6);
  });

  it("advises another release where a package keeps the memory, and of what a call keeps, its release first", () => {
    const { named } = nameLines(seen(line(RISING)), [growth(14 * MIB)], COVERED);
    const [first] = named;
    if (first === undefined) throw new Error("no line");
    const adviceOf = (relation: LinePackage["relation"], placed: "kept" | "allocated") =>
      lineFinding(
        { ...first, line: { ...first.line, placed } },
        {
          ...{ root: "/repo", severity: "critical", rank: null, code: null },
          package: { ecosystem: "python", name: "aiohttp", version: "3.10.10", relation },
        },
      ).remediation[0] ?? null;
    const advice =
      "Try another release of aiohttp than 3.10.10; `stormlog-gate culprit` finds the release that introduced the leak.";
    expect(adviceOf("contains", "allocated")).toBe(advice);
    expect(adviceOf("called", "kept")).toMatch(
      /^Release what this call returns or registers .* another release of aio/,
    );
    expect([adviceOf("called", "allocated"), adviceOf("calls", "kept")]).not.toContain(advice);
  });
});

describe("the line of a jump", () => {
  const held = line([0, 0, 50 * MIB, 50 * MIB, 50 * MIB, 50 * MIB], {
    trend: "once",
    keptBy: null,
    placed: "allocated",
  });

  it("the line of a jump is reported as one-time memory that is still held", () => {
    const { named } = nameLines(seen(held, line(RISING)), [jump], COVERED);
    expect(named.map(({ kind }) => kind)).toEqual(["one-time"]);
    const [first] = named;
    if (first === undefined) throw new Error("no line");
    const finding = lineFinding(first, {
      root: "/repo",
      severity: "critical",
      rank: null,
      code: "cache = ones()",
      package: null,
    });
    expect(finding).toMatchObject({ classification: "one_time_line", severity: "critical", remediation: [] });
    expect(finding.description).toBe("one-time +50.00 MiB at train.py:18, still held at the end");
  });

  it("the line of a jump is not reported when the memory is released again", () => {
    expect(kindsOf(seen(line([0, 0, 50 * MIB, 50 * MIB, MIB, MIB], { trend: "once" })), [jump])).toEqual([]);
  });
});

it("growth without a line names the memory and the tool that would tell", () => {
  const { unexplained } = nameLines(seen(), [growth(64 * MIB)], COVERED);
  const [rest] = unexplained;
  if (rest === undefined) throw new Error("nothing is unexplained");
  const context = { root: "/repo", site: null, package: null, unseen: null, isUnreached: false } as const;
  expect(unattributedFinding(rest, { ...context, language: "python" })).toMatchObject({
    classification: "unattributed_growth",
    severity: "info",
    evidence: { share: 1, memory: "native", growth_bytes: 64 * MIB },
  });
  expect(unattributedFinding(rest, { ...context, language: "python" }).remediation[0]).toContain("memray run --native");
  expect(unattributedFinding(rest, { ...context, language: "node" }).remediation[0]).toContain("heaptrack");
  const inFiles = unattributedFinding({ ...rest, memory: "files" }, { ...context, language: "python" });
  expect(inFiles.description).toContain("in files in RAM");
  expect(inFiles.remediation).toEqual([expect.stringContaining("lsof +L1")]);
  const unseen = { kind: "static", program: "leak", reason: "", advice: "Link it dynamically." } as const;
  expect(unattributedFinding(rest, { ...context, language: "none", unseen, isUnreached: false }).remediation[0]).toBe(
    unseen.advice,
  );
});

it("growth of memory that the program freed is called that, from half of it on", () => {
  const memoryOf = (freed: number | null) =>
    nameLines(seen(), [{ ...growth(64 * MIB), freed }], COVERED).unexplained.map(({ memory }) => memory);
  expect([null, 31 * MIB, 33 * MIB].map(memoryOf)).toEqual([["native"], ["native"], ["freed"]]);
});

it("growth of an interpreter's own heap is never called native", () => {
  const memoryOf = (metric: JudgedGrowth["metric"]) =>
    nameLines(seen(), [{ ...growth(64 * MIB), metric }], COVERED).unexplained.map(({ memory }) => memory);
  expect([memoryOf("host"), memoryOf("js_heap"), memoryOf("python")]).toEqual([["native"], ["unknown"], ["unknown"]]);
});

describe("blocks that stay between freed memory", () => {
  const freed = { ...growth(64 * MIB), freed: 60 * MIB };
  const crumbs = RISING.map((bytes) => bytes / 1000);
  const restOf = (...lines: readonly AttributedLine[]) => nameLines(seen(...lines), [freed], COVERED).unexplained[0];

  it("blocks that stay between freed memory are reported with their line and package", () => {
    const stack = [{ file: "/env/pandas/io.py", line: 7, function: "read_csv" }];
    const rest = restOf(line(crumbs, { countGrowth: 700, stack }));
    if (rest === undefined) throw new Error("nothing is unexplained");
    const pandas = { ecosystem: "python", name: "pandas", version: "2.2.0", relation: "called" } as const;
    const found = unattributedFinding(rest, {
      root: "/repo",
      language: "python",
      site: null,
      package: pandas,
      unseen: null,
      isUnreached: false,
    });
    expect(found).toMatchObject({
      classification: "unattributed_growth",
      evidence: { memory: "freed", line: "train.py:18", objects: 700, bytes_per_step: (64 * MIB) / 70 },
      package: pandas,
    });
    expect(found.evidence.stack).toBe("/env/pandas/io.py:7 read_csv");
    expect(found.description).toContain("; 700 more blocks from train.py:18 stay, ");
    expect(unattributed([found])?.text).toMatch(
      /keeps \(fragmentation\); 700 more blocks from train.py:18 stay, .*pandas 2\.2\.0$/,
    );
    expect(found.remediation[0]).toContain("free the blocks that stay");
  });

  it("staying blocks have no line where several lines hold as many, or where they are few or stopped growing", () => {
    const equal = [1, 2, 3].map(() => line(crumbs, { countGrowth: 100 }));
    expect(restOf(...equal)?.staying).toBeNull();
    expect(restOf(line(crumbs, { countGrowth: 15 }))?.staying).toBeNull();
    const stopped = [...crumbs.slice(0, 3), ...crumbs.slice(3).map(() => crumbs[2]!)];
    expect(restOf(line(stopped, { countGrowth: 700 }))?.staying).toBeNull();
  });

  it("staying blocks are not looked for where the memory is not freed", () => {
    expect(
      nameLines(seen(line(crumbs, { countGrowth: 700 })), [growth(64 * MIB)], COVERED).unexplained[0]?.staying,
    ).toBeNull();
  });
});
