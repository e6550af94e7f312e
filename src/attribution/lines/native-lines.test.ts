import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Frame } from "../../snapshot/model/frames.ts";
import { readNativeSamples } from "../native/native-files.ts";
import type { JudgedGrowth } from "../run/judged-growth.ts";
import { lineFinding, unattributedFinding } from "./line-finding.ts";
import { type NativeLine, nativeLines } from "./native-lines.ts";

const MIB = 2 ** 20;
let root: string;
let module: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "native-lines-"));
  const packages = path.join(root, "env", "lib", "python3.11", "site-packages");
  module = path.join(packages, "fasttok", "_core.abi3.so");
  mkdirSync(path.join(packages, "fasttok-1.2.3.dist-info"), { recursive: true });
  writeFileSync(
    path.join(packages, "fasttok-1.2.3.dist-info", "RECORD"),
    "fasttok/_core.abi3.so,sha256=x,1\nfasttok.libs/libz.so,,\n",
  );
  writeFileSync(path.join(packages, "fasttok-1.2.3.dist-info", "METADATA"), "Name: fasttok\nVersion: 1.2.3\n");
  mkdirSync(path.join(root, "run", "probe"), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const growth: JudgedGrowth = {
  device: "host",
  metric: "host",
  stretch: { kind: "growth", unit: "seconds", start: 0, onset: 1, end: 8, bytes: 70 * MIB },
  bytes: 70 * MIB,
  freed: null,
};
const isUserFrame = ({ file }: Frame): boolean => file.endsWith("serve.py");

interface Written {
  readonly bytes: number;
  readonly count: number;
  readonly native?: readonly number[];
  readonly python?: readonly (readonly [string, number, string, string | null])[];
}

const SERVE: NonNullable<Written["python"]> = [
  ["/env/lib/python3.11/site-packages/fasttok/api.py", 7, "run", null],
  ["/app/serve.py", 41, "handle", "encode"],
];

/** Writes one document for each moment, a second apart. */
function write(moments: readonly (readonly Written[])[], interval = 65536): void {
  for (const [moment, stacks] of moments.entries()) {
    const document = {
      schema: "stormlog.native/1",
      pid: 7,
      moment,
      step: null,
      time_ns: (1 + moment) * 1e9,
      interval_bytes: interval,
      dropped: 0,
      total_bytes: stacks.reduce((sum, { bytes }) => sum + bytes, 0),
      // In the library itself, then in the module.
      stacks: stacks.map((one) => ({ native: [0x1010, 0x5010], python: SERVE, ...one })),
      others_bytes: 0,
      modules: [
        [0x1000, 0x2000, 0, "/opt/libstormlog_stacks.so"],
        [0x5000, 0x6000, 0x1000, module],
        [0x9000, 0xa000, 0, "/usr/bin/python3.11"],
      ],
    };
    writeFileSync(path.join(root, "run", "probe", `7.0.native.${moment}.json`), JSON.stringify(document));
  }
}

async function found(known: readonly NativeLine[] = []): Promise<readonly NativeLine[]> {
  return nativeLines({
    samples: readNativeSamples(path.join(root, "run")),
    pipReport: null,
    isUserFrame,
    growths: [growth],
    slowdown: 1,
    known: known.map(({ named }) => named.line),
  });
}

const MOMENTS = [0, 1, 2, 3, 4, 5, 6];
const rising = (more: Partial<Written> = {}) =>
  MOMENTS.map((moment) => [{ bytes: moment * 9 * MIB, count: moment * 40, ...more }]);

describe("lines of native memory", () => {
  it("names the package, its version, the function called and the Python line", async () => {
    write(rising());
    const [line] = await found();
    expect(line?.site).toMatchObject({ package: { name: "fasttok", version: "1.2.3" }, called: "encode" });
    if (line === undefined) throw new Error("no line");
    const { site } = line;
    const context = {
      root: "/app",
      severity: "critical",
      rank: null,
      code: null,
      package: site.package,
      site,
    } as const;
    const finding = lineFinding(line.named, context);
    expect(finding.description).toMatch(
      /^serve\.py:41 calls `encode` of fasttok 1\.2\.3, which allocates 9.* every second and does not free it, 9\d % of/,
    );
    expect(finding.evidence).toMatchObject({ line: "serve.py:41", native_called: "encode", native_module: module });
    expect(finding.package).toEqual({ ecosystem: "python", name: "fasttok", version: "1.2.3", relation: "called" });
    expect(finding.remediation).toEqual([expect.stringMatching(/ try another release of fasttok than 1\.2\.3; /)]);
    expect(finding.evidence.share).toBeCloseTo(0.9, 1);
  });

  it("names nothing that grows at fewer than four moments, or by a fifth of the growth at most", async () => {
    write(MOMENTS.map((moment) => [{ bytes: Math.min(moment, 3) * 18 * MIB, count: Math.min(moment, 3) * 80 }]));
    expect(await found()).toEqual([]);
    write(MOMENTS.map((moment) => [{ bytes: moment * MIB, count: moment * 40 }]));
    expect((await found()).map(({ named }) => named.kind)).toEqual(["contributing"]);
  });

  it("names nothing where the samples are too few to exclude chance", async () => {
    write(rising({ count: 2 }), 4 * MIB);
    expect(await found()).toEqual([]);
  });

  it("names the line of one block that becomes larger, which is one sample", async () => {
    write(rising({ count: 1 }));
    expect((await found()).map(({ named }) => named.kind)).toEqual(["leak"]);
  });

  it("leaves out the interpreter's own memory, and a line that is named already", async () => {
    write(rising({ native: [0x1010, 0x9010, 0x5010] }));
    expect(await found()).toEqual([]);
    write(rising());
    const lines = await found();
    write(rising());
    expect(await found(lines)).toEqual([]);
  });

  it("names the module where no frame of the program and no debug information is known", async () => {
    write(rising({ python: [] }));
    const [line] = await found();
    expect(line?.hasLine).toBe(false);
    const rest = unattributedFinding(
      { growth, share: 0.9, memory: "native", staying: null },
      { root: null, language: "none", site: line?.site ?? null, package: null, unseen: null, isUnreached: false },
    );
    expect(rest.description).toMatch(/allocated by fasttok 1\.2\.3$/);
  });

  it("skips a damaged document with a note", async () => {
    writeFileSync(path.join(root, "run", "probe", "7.0.native.0.json"), '{"schema":"stormlog.native/1"');
    const { notes } = readNativeSamples(path.join(root, "run"));
    expect(notes).toEqual(["7.0.native.0.json: the list of stacks is damaged or too large"]);
  });
});
