import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { LinePackage } from "../../analysis/series/document.ts";
import type { AttributedLine } from "../../snapshot/growth/attributed-line.ts";
import type { JudgedGrowth } from "../run/judged-growth.ts";
import { growingLines, withPackageShares } from "./growing-lines.ts";
import type { NamedLine } from "./name-lines.ts";

const growth = { device: "host" } as JudgedGrowth;
const lineOf = (file: string, share: number, kind: NamedLine["kind"] = "contributing"): NamedLine => ({
  kind,
  line: { file } as AttributedLine,
  growth,
  share,
});
const grpc = (relation: LinePackage["relation"], name = "grpc-js"): LinePackage => ({
  ecosystem: "node",
  name,
  version: "1.4.2",
  relation,
});

const caller = lineOf("serve.js", 0.15);
const trace = lineOf("channelz.js", 0.14);
const child = lineOf("call.js", 0.07);
const other = lineOf("other.js", 0.06);

/** Files, kinds, shares in percent and numbers of further lines. */
const shown = (lines: readonly NamedLine[], packages: readonly (readonly [NamedLine, LinePackage])[]) =>
  withPackageShares(lines, new Map(packages.map(([{ line }, found]) => [line, found]))).map((one) => [
    ...[one.line.file, one.kind, Math.round(100 * one.share), one.others ?? 0],
  ]);

it("lines of a package are one leak with the line that calls it, where they hold a fifth of the growth together", () => {
  const packages = [
    [caller, grpc("called")],
    [trace, grpc("contains")],
    [child, grpc("calls")],
  ] as const;
  expect(shown([caller, trace, other, child], packages)).toEqual([
    ["serve.js", "leak", 36, 2],
    ["other.js", "contributing", 6, 0],
  ]);
});

it("two lines that call the same package are not added up", () => {
  const packages = [
    [caller, grpc("called")],
    [other, grpc("called")],
    [trace, grpc("contains")],
    [child, grpc("contains")],
  ] as const;
  expect(shown([caller, trace, child, other], packages)).toEqual([
    ["channelz.js", "leak", 21, 1],
    ["serve.js", "contributing", 15, 0],
    ["other.js", "contributing", 6, 0],
  ]);
  expect(shown([caller, trace, other], [packages[0], packages[1]]).map(([, kind]) => kind)).toEqual([
    "contributing",
    "contributing",
    "contributing",
  ]);
});

it("lines of different packages, lines below a fifth and lines beside a leak stay as they are", () => {
  const kinds = (lines: readonly NamedLine[], packages: Parameters<typeof shown>[1]) =>
    shown(lines, packages).map(([, kind]) => kind);
  const apart = [
    [trace, grpc("contains")],
    [child, grpc("contains", "long")],
  ] as const;
  expect(kinds([trace, child], apart)).toEqual(["contributing", "contributing"]);
  const little = [
    [child, grpc("contains")],
    [other, grpc("contains")],
  ] as const;
  expect(kinds([child, other], little)).toEqual(["contributing", "contributing"]);
  const leak = lineOf("app.js", 0.5, "leak");
  expect(kinds([leak, trace, caller], [[trace, grpc("contains")] as const, [caller, grpc("called")] as const])).toEqual(
    ["leak", "contributing", "contributing"],
  );
});

it("the package with the largest share is the leak, whichever has the first line", () => {
  const [one, two] = [lineOf("a.js", 0.13), lineOf("b.js", 0.12)];
  const packages = [
    [trace, grpc("contains")],
    [child, grpc("contains")],
    [one, grpc("contains", "large")],
    [two, grpc("contains", "large")],
  ] as const;
  expect(shown([trace, one, two, child], packages)[0]).toEqual(["a.js", "leak", 25, 1]);
});

/** Why no line of a program is named whose C heap was read so many times, and did not grow in between. */
async function reasonAfter(readings: number): Promise<string | null> {
  const directory = mkdtempSync(path.join(tmpdir(), "gate-growing-lines-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(path.join(directory, "probe"));
  for (let moment = 0; moment < readings; moment += 1) {
    const document = {
      ...{ schema: "stormlog.native/1", pid: 7, moment, step: null, time_ns: moment, interval_bytes: 65536 },
      ...{ total_bytes: 2 ** 20, stacks: [{ bytes: 2 ** 20, count: 16, native: [1], python: [] }], modules: [] },
    };
    writeFileSync(path.join(directory, "probe", `7.0.native.${moment}.json`), JSON.stringify(document));
  }
  const found = await growingLines({
    ...{ directory, cwd: "/", root: "/", pipReport: null, probe: undefined, inFiles: 0, unseen: null },
    ...{ growing: { program: "ingest", pid: 7 }, severity: "critical", slowdown: () => 1 },
    growths: [
      {
        ...{ device: "host", metric: "host", bytes: 2 ** 26, freed: null },
        stretch: { kind: "growth", unit: "seconds", start: 0, onset: 1, end: 8, bytes: 2 ** 26 },
      },
    ],
  });
  return found.noLine;
}

it("a program is said to grow outside of the C heap only after enough readings of that heap", async () => {
  expect(await reasonAfter(3)).toMatch(/^3 readings of the heap fitted into the run/);
  expect(await reasonAfter(5)).toMatch(/^ingest grows outside of the C heap/);
});
