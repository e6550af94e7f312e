import { type ExecFileSyncOptions, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as v from "valibot";
import { packageRoot } from "../../../src/core/package-root.ts";
import { ENDED, grown, lateLine, lengthOf, restOf, SHAPE_NOISES } from "../corpus/growth-shapes.ts";
import { readRealSeries } from "../corpus/real.ts";
import { describeShare, shortShare } from "../intervals.ts";
import { seeded } from "../random.ts";
import { changePoints } from "../rules/change-points.ts";
import { analysisOf, ours } from "../rules/ours.ts";
import { mannKendall, stormlogR2, tracemlAny, tracemlBands } from "../rules/published.ts";
import { type Rule, thinned } from "../rules/rule.ts";
import type { Part, Table } from "./part.ts";

/** The packages whose rules are run. What they need else for these functions is numpy and scipy. */
const PACKAGES = [
  "stormlog==0.4.3",
  "traceml-ai==0.5.0",
  "apache-otava==0.8.0",
  "ruptures==1.1.10",
  "pymannkendall==1.4.3",
] as const;
const NUMERICAL = ["numpy==2.2.*", "scipy==1.16.*"] as const;
const ROUNDS = { quick: 12, full: 60 } as const;
const INSTALL_MS = 300_000;
/** Longer series are thinned for all rules alike, because some of them compare all pairs. */
const MAX_POINTS = 400;

const AnswersSchema = v.record(v.string(), v.array(v.boolean()));
type Answers = v.InferOutput<typeof AnswersSchema>;

/** The alarms of every package on every series; null where they cannot be installed here. */
function ask(series: readonly Float64Array[]): Answers | null {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-peers-"));
  const python = path.join(directory, "bin", "python");
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  const options: ExecFileSyncOptions = { timeout: INSTALL_MS, stdio: ["pipe", "pipe", "pipe"], maxBuffer: 2 ** 28 };
  try {
    try {
      execFileSync("python3", ["-m", "venv", directory], options);
      execFileSync(python, [...pip, ...NUMERICAL], options);
      execFileSync(python, [...pip, "--no-deps", ...PACKAGES], options);
    } catch (error) {
      console.error(`packages: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    }
    const script = path.join(packageRoot(), "bench/verdict/peers.py");
    const input = JSON.stringify(series.map((bytes) => [...bytes]));
    const text = String(execFileSync(python, [script], { ...options, input }));
    return v.parse(AnswersSchema, JSON.parse(text));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const otavaHere: Rule = {
  name: "Otava",
  judge: (bytes) => {
    const values = [...bytes];
    const edges = [0, ...changePoints(values).map(({ index }) => index), values.length];
    const levels = edges.slice(1).map((to, k) => {
      const stretch = values.slice(edges[k], to);
      return stretch.reduce((sum, value) => sum + value, 0) / stretch.length;
    });
    return levels.length > 1 && levels.at(-1) === Math.max(...levels) ? "leak" : "other";
  },
};

/** Our re-implementation of each package's rule; ruptures has none. */
const SAME: Readonly<Record<string, Rule | undefined>> = {
  stormlog: stormlogR2,
  "traceml-ai, confirmed": tracemlBands,
  "traceml-ai, early or confirmed": tracemlAny,
  pymannkendall: mannKendall,
  "apache-otava": otavaHere,
};

const KINDS = ["real, healthy", "at rest", "growth that ended", "leak", "leak from 60 to 80 %"] as const;

interface Case {
  readonly kind: (typeof KINDS)[number];
  readonly bytes: Float64Array;
}

function cases(data: string, rounds: number, seed: number): readonly Case[] {
  const random = seeded(seed);
  const found: Case[] = [];
  const add = (kind: Case["kind"], bytes: Float64Array) => found.push({ kind, bytes: thinned(bytes, MAX_POINTS) });
  for (let round = 0; round < rounds; round += 1) {
    for (const noise of SHAPE_NOISES) {
      const draw = (shape: (n: number) => Float64Array): Float64Array => {
        const n = lengthOf(random);
        const rest = restOf(noise, n, random);
        return grown(rest, shape(n), (analysisOf(rest.values).mde_bytes ?? 0.1 * rest.level) * (3 + 9 * random()));
      };
      add(
        "at rest",
        draw((n) => new Float64Array(n)),
      );
      for (const { draw: shape } of ENDED)
        add(
          "growth that ended",
          draw((n) => shape({ n, random })),
        );
      add(
        "leak",
        draw((n) => lateLine(n, 0)),
      );
      add(
        "leak from 60 to 80 %",
        draw((n) => lateLine(n, 0.6 + 0.2 * random())),
      );
    }
  }
  if (data === "") return found;
  const real = readRealSeries(data).filter(({ kind, bytes }) => kind === "level" && bytes.length >= 50);
  const every = Math.max(1, Math.floor(real.length / (4 * rounds)));
  for (const { bytes } of real.filter((_, index) => index % every === 0)) add("real, healthy", bytes);
  return found;
}

/** The published packages themselves, beside their rules as they are re-implemented here. */
export const packages: Part = ({ data, quick, seed }): Table[] => {
  const all = cases(data, quick ? ROUNDS.quick : ROUNDS.full, seed + 67);
  const title = "The published packages themselves";
  const answers = ask(all.map(({ bytes }) => bytes));
  if (answers === null) {
    const note = `${PACKAGES.join(", ")}: not run, because Python or a package registry was not reachable.`;
    return [{ title, note, rows: [["package"], ...PACKAGES.map((name) => [name])] }];
  }
  const alarmsOf = (rule: Rule): readonly boolean[] => all.map(({ bytes }) => rule.judge(bytes, "level") === "leak");
  const row = (name: string, alarms: readonly boolean[], same: string): string[] => [
    name,
    same,
    ...KINDS.map((kind) => {
      const of = all.filter((one) => one.kind === kind).length;
      const hits = all.filter((one, index) => one.kind === kind && alarms[index]).length;
      return kind === "real, healthy" || kind === "at rest" ? describeShare({ hits, of }) : shortShare({ hits, of });
    }),
  ];
  const rows = Object.entries(answers).map(([name, alarms]) => {
    const rule = SAME[name];
    const own = rule === undefined ? null : alarmsOf(rule);
    const agreed = own?.filter((alarm, index) => alarm === alarms[index]).length;
    return row(name, alarms, own === null ? "–" : `${agreed} of ${all.length}`);
  });
  return [
    {
      title,
      note: `${PACKAGES.join(", ")}, installed by pip and run on ${all.length} series of at most ${MAX_POINTS} points; how often our re-implementation agrees, and the share of alarms. Growth is 3 to 12 times what the run at rest states as detectable. Change-point tools have no alarm: here it is a last level that is the highest, ruptures with PELT, least squares and Schwarz's penalty.`,
      rows: [["rule", "re-implementation agrees", ...KINDS], row(ours.name, alarmsOf(ours), "–"), ...rows],
    },
  ];
};
