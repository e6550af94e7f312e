/**
 * What analysing costs once a recording is read, and what reading it from a file costs besides: time, memory, and how
 * both grow. Eight ranks, four metrics each, a clock and a step counter. Every figure comes from a fresh process; of
 * analysing the least disturbed of several rounds counts, files are read once. Usage: npx tsx bench/analyze/index.ts
 * [--json] [--rounds N] [--sizes 1e6,1e7,1e8] [--formats parquet,record,csv] (`--formats none` leaves the files out,
 * `--rounds 0` the rest). Exits 1 when a limit is missed.
 */
import { spawnSync } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { FILE_FORMATS } from "./files.ts";
import { type FormatResult, fromFile } from "./from-files.ts";
import type { OneResult } from "./one.ts";

/** Processor time of analysing ten million values from a cold start, over that of sorting their columns once. */
const LIMIT_OVER_SORTING = 0.5;
const LIMIT_AT = 1e7;
/** Resident set, runtime and columns included, over the bytes of the columns; from ten million values on. */
const LIMIT_MEMORY = 3;
/** How much more a value may cost at the largest size than at ten million. */
const LIMIT_GROWTH = 1.3;

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    rounds: { type: "string", default: "3" },
    sizes: { type: "string", default: "1e6,1e7,1e8" },
    formats: { type: "string", default: FILE_FORMATS.join(",") },
  },
});
const sizes = options.sizes.split(",").map(Number);

function once(size: number): OneResult {
  const script = fileURLToPath(new URL("./one.ts", import.meta.url));
  const child = spawnSync(process.execPath, [...process.execArgv, script, String(size)], { encoding: "utf8" });
  if (child.status !== 0) throw new Error(`analysing ${size} values failed: ${child.stderr}`);
  return JSON.parse(child.stdout);
}

/** Time is the fastest round's, memory the largest of all rounds. */
function least(size: number) {
  const rounds = Array.from({ length: Number(options.rounds) }, () => once(size));
  const fastest = rounds.reduce((best, next) => (next.cpuMs < best.cpuMs ? next : best));
  const ratios = rounds.map(({ cpuMs, sortMs }) => cpuMs / sortMs).sort((a, b) => a - b);
  return {
    ...fastest,
    overSorting: {
      value: ratios[ratios.length >> 1] ?? Number.NaN,
      from: ratios[0] ?? Number.NaN,
      to: ratios.at(-1) ?? Number.NaN,
    },
    wallMs: Math.min(...rounds.map(({ wallMs }) => wallMs)),
    warmMs: Math.min(...rounds.map(({ warmMs }) => warmMs)),
    residentPeak: Math.max(...rounds.map(({ residentPeak }) => residentPeak)),
  };
}

const results = Number(options.rounds) > 0 ? sizes.map(least) : [];
const formats = FILE_FORMATS.filter((format) => options.formats.split(",").includes(format));
const files = formats.flatMap((format) => sizes.map((size) => fromFile(format, size)));
const at = results.find(({ values }) => Math.abs(values / LIMIT_AT - 1) < 0.01);
const last = results.at(-1);
const perValue = ({ cpuMs, values }: OneResult) => cpuMs / values;
const filePerByte = ({ cpuMs, columnBytes }: FormatResult) => cpuMs / columnBytes;
/** Cost of the largest file against that of the one of ten million values, by format. */
const fileGrowth = formats.flatMap((format) => {
  const own = files.filter((one) => one.format === format);
  const ten = own[sizes.indexOf(LIMIT_AT)];
  const largest = own.at(-1);
  if (ten === undefined || largest === undefined || largest === ten) return [];
  const value = filePerByte(largest) / filePerByte(ten);
  return [{ what: `cost of a value from ${format}, largest over ten million`, value, limit: LIMIT_GROWTH }];
});
/** The median of the rounds; each sorts in the process that analysed. */
const overSorting =
  at === undefined
    ? []
    : [{ what: "analysing ten million values over sorting them", ...at.overSorting, limit: LIMIT_OVER_SORTING }];
const limits: readonly {
  readonly what: string;
  readonly value: number;
  readonly limit: number;
  readonly from?: number;
  readonly to?: number;
}[] = [
  ...overSorting,
  ...results
    .filter(({ values }) => values >= 0.99 * LIMIT_AT)
    .map((one) => ({
      what: `resident set over columns, ${one.values.toExponential(0)} values`,
      value: one.residentPeak / one.columnBytes,
      limit: LIMIT_MEMORY,
    })),
  ...(at && last && last !== at
    ? [{ what: "cost of a value, largest over ten million", value: perValue(last) / perValue(at), limit: LIMIT_GROWTH }]
    : []),
  ...files
    .filter((_, i) => (sizes[i % sizes.length] ?? 0) > LIMIT_AT)
    .map((one) => ({
      what: `resident set over columns, read from ${one.format}, ${one.values.toExponential(0)} values`,
      value: one.residentPeak / one.columnBytes,
      limit: LIMIT_MEMORY,
    })),
  ...fileGrowth,
];
const processor = cpus()[0]?.model ?? "unknown processor";
const missed = limits.filter(({ value, limit }) => !(value <= limit));

if (options.json) {
  console.log(JSON.stringify({ processor, results, files, limits, missed: missed.length }, null, 2));
} else {
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
  const rows = [
    [
      "values",
      "columns MiB",
      "cold ms",
      "CPU ms",
      "warm ms",
      "CPU ns a value",
      "RSS before MiB",
      "RSS peak MiB",
      "peak/columns",
    ],
    ...results.map((one) => [
      one.values.toExponential(0),
      mib(one.columnBytes),
      one.wallMs.toFixed(0),
      one.cpuMs.toFixed(0),
      one.warmMs.toFixed(0),
      (perValue(one) * 1e6).toFixed(1),
      mib(one.residentBefore),
      mib(one.residentPeak),
      (one.residentPeak / one.columnBytes).toFixed(2),
    ]),
  ];
  const print = (table: readonly (readonly string[])[]) => {
    const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
    for (const row of table) console.log(row.map((text, column) => text.padStart(widths[column] ?? 0)).join("  "));
  };
  console.log(`${processor}, Node ${process.version}`);
  if (results.length > 0) print(rows);
  console.log(`found: ${last?.classes ?? files.at(-1)?.classes ?? "nothing"}\n`);
  if (files.length > 0) {
    print([
      [
        "file",
        "values",
        "file MiB",
        "columns MiB",
        "read ms",
        "analyse ms",
        "CPU ns a value",
        "RSS peak MiB",
        "peak/columns",
      ],
      ...files.map((one) => [
        one.format,
        one.values.toExponential(0),
        mib(one.fileBytes),
        mib(one.columnBytes),
        one.readMs.toFixed(0),
        one.analyzeMs.toFixed(0),
        ((one.cpuMs / one.values) * 1e6).toFixed(1),
        mib(one.residentPeak),
        (one.residentPeak / one.columnBytes).toFixed(2),
      ]),
    ]);
    console.log("");
  }
  for (const { what, value, from, to, limit } of limits) {
    const range = from === undefined || to === undefined ? "" : `${from.toFixed(2)} to ${to.toFixed(2)}; `;
    console.log(`${value <= limit ? "ok    " : "MISSED"}  ${what}: ${value.toFixed(2)} (${range}at most ${limit})`);
  }
}
process.exitCode = missed.length > 0 ? 1 : 0;
