import { createRequire } from "node:module";
import path from "node:path";
import { compileFunction } from "node:vm";
import { buildSync } from "esbuild";
import type { analyze } from "../../../src/analysis/analyze.ts";
import { packageRoot } from "../../../src/core/package-root.ts";
import {
  ENDED,
  GOING_ON,
  grown,
  LOGARITHMIC,
  lateLine,
  lengthOf,
  restOf,
  SHAPE_NOISES,
} from "../corpus/growth-shapes.ts";
import { injection, LEAK_SHAPES } from "../corpus/inject.ts";
import { HEALTHY, runProgram } from "../corpus/synthetic.ts";
import { seeded } from "../random.ts";
import { analysisOf, recordingOf } from "../rules/ours.ts";
import type { Part } from "./part.ts";

const SOURCES = "src/analysis/trend/";
const FACTORS = [0.8, 1.25] as const;
/** Draws of each noise and shape. */
const ROUNDS = { quick: 1, full: 6 } as const;
/** From this value on a constant is the confidence level of a test, and its significance level is scaled. */
const LEVEL_OF_TEST = 0.9;

interface Constant {
  /** Its name, and its place where its initialiser has several numbers. */
  readonly name: string;
  readonly value: number;
  /** Where its digits are in the bundle. */
  readonly from: number;
  readonly to: number;
}

/** The analysis as one program. */
function bundle(): string {
  const entry = path.join(packageRoot(), "src/analysis/analyze.ts");
  const built = buildSync({ entryPoints: [entry], bundle: true, format: "cjs", platform: "node", write: false });
  return built.outputFiles[0]?.text ?? "";
}

/**
 * Every number in the initialiser of a top-level constant (upper case) of the trend analysis. The bundle has a comment
 * with the path before each module, and its statements begin in the first column.
 */
function constantsOf(text: string): readonly Constant[] {
  const found: Constant[] = [];
  let module = "";
  let offset = 0;
  let name: string | null = null;
  let numbers: Constant[] = [];
  for (const line of text.split("\n")) {
    module = /^\/\/ (\S+\.[cm]?[jt]s)$/.exec(line)?.[1] ?? module;
    const start = /^(?:var|const|let) ([A-Z][A-Z0-9_]+) = /.exec(line);
    if (start?.[1] !== undefined && module.startsWith(SOURCES))
      name = `${path.parse(module).name} ${ownName(start[1])}`;
    if (name !== null) {
      const body = line.slice(0, start?.[0].length ?? 0).replace(/./g, " ") + line.slice(start?.[0].length ?? 0);
      for (const match of body.matchAll(/(?<![\w.$"'])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w."'])/g)) {
        const from = offset + match.index;
        const constant = { name, value: Number(match[0]), from, to: from + match[0].length };
        if (constant.value !== 0) numbers.push(constant);
      }
      if (line.endsWith(";")) {
        const several = numbers.length > 1;
        found.push(...numbers.map((one, k) => (several ? { ...one, name: `${one.name}, number ${k + 1}` } : one)));
        [name, numbers] = [null, []];
      }
    }
    offset += line.length + 1;
  }
  return found;
}

/** The bundler numbers names that several modules have. */
const ownName = (name: string): string => name.replace(/(?<=[A-Z])\d+$/, "");

/** The value times a factor: whole numbers stay whole and move by at least one, levels of tests stay below one. */
function scaled(value: number, factor: number): number {
  if (value >= LEVEL_OF_TEST && value < 1) return 1 - (1 - value) / factor;
  if (!Number.isInteger(value)) return value * factor;
  return factor < 1 ? Math.min(value - 1, Math.round(value * factor)) : Math.max(value + 1, Math.round(value * factor));
}

type Analyze = typeof analyze;

function programOf(text: string): Analyze {
  const module: { exports: { analyze?: Analyze } } = { exports: {} };
  compileFunction(text, ["require", "module", "exports"])(createRequire(import.meta.url), module, module.exports);
  const own = module.exports.analyze;
  if (own === undefined) throw new Error("the bundle has no analysis");
  return own;
}

const GROUPS = ["at rest or ended", "leaking", "begins late or slows down"] as const;

/** The series, the same for every constant, by what is right of them. */
function corpus(rounds: number, seed: number): readonly Float64Array[][] {
  const random = seeded(seed);
  const [healthy, leaking, late]: [Float64Array[], Float64Array[], Float64Array[]] = [[], [], []];
  for (let round = 0; round < rounds; round += 1) {
    for (const workload of Object.values(HEALTHY)) healthy.push(runProgram(workload, 200, random).allocated);
    for (const noise of SHAPE_NOISES) {
      const draw = (shape: (n: number) => Float64Array): Float64Array => {
        const n = lengthOf(random);
        const rest = restOf(noise, n, random);
        const minimum = analysisOf(rest.values).mde_bytes ?? 0.1 * rest.level;
        return grown(rest, shape(n), minimum * (1.2 + 6 * random()));
      };
      healthy.push(draw((n) => new Float64Array(n)));
      for (const shape of ENDED) healthy.push(draw((n) => shape.draw({ n, random })));
      for (const shape of LEAK_SHAPES.filter((one) => one === "linear" || one === "under a saw-tooth")) {
        leaking.push(draw((n) => injection(shape, n, 1, random).values));
      }
      for (const shape of GOING_ON) leaking.push(draw((n) => shape.draw({ n, random })));
      for (const onset of [0.65, 0.8]) late.push(draw((n) => lateLine(n, onset)));
      late.push(draw((n) => LOGARITHMIC.draw({ n, random })));
    }
  }
  return [healthy, leaking, late];
}

/** Effect of every constant of the trend analysis, one at a time. */
export const constants: Part = ({ quick, seed }) => {
  const groups = corpus(quick ? ROUNDS.quick : ROUNDS.full, seed + 61);
  const text = bundle();
  /** By group: which series are an alarm, a leak in the first two groups, a leak or rising in the last. */
  const judged = (program: Analyze): readonly (readonly boolean[])[] =>
    groups.map((series, group) =>
      series.map((bytes) => {
        const found = program(recordingOf(bytes)).series[0]?.class;
        return found === "leak" || (group === 2 && found === "rising");
      }),
    );
  const before = judged(programOf(text));
  const count = (hits: readonly boolean[] = []): number => hits.filter(Boolean).length;
  const change = (after: readonly (readonly boolean[])[], group: number): string => {
    const difference = count(after[group]) - count(before[group]);
    return difference > 0 ? `+${difference}` : String(difference);
  };
  const all = constantsOf(text);
  const rows: string[][] = [];
  for (const { name, value, from, to } of all) {
    const cells = FACTORS.map((factor) => {
      const program = programOf(text.slice(0, from) + String(scaled(value, factor)) + text.slice(to));
      const after = judged(program);
      return GROUPS.map((_, group) => change(after, group));
    });
    if (cells.flat().every((cell) => cell === "0")) continue;
    rows.push([name, String(value), ...GROUPS.flatMap((_, group) => cells.map((cell) => cell[group] ?? ""))]);
  }
  return [
    {
      title: "Every constant of the trend analysis, one at a time",
      note: `The ${all.length} numbers of \`${SOURCES}\`, found in its source, times ${FACTORS.join(" and ")} (whole numbers by one at least; of levels of tests, what they leave to chance). Cell: how many more alarms on the same series. ${GROUPS.map((name, group) => `${name}: ${count(before[group])} of ${groups[group]?.length ?? 0}`).join("; ")}. The ${all.length - rows.length} that change none are left out.`,
      rows: [
        ["constant", "value", ...GROUPS.flatMap((name) => FACTORS.map((factor) => `${name}, × ${factor}`))],
        ...rows,
      ],
    },
  ];
};
