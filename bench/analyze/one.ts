/**
 * One analysis in a separate process, so that caches are cold and its memory is measured alone. Prints one line of
 * JSON.
 */
import { analyze } from "../../src/analysis/analyze.ts";
import { benchRecording, columnBytes } from "./recording.ts";

export interface OneResult {
  /** Values analysed, over all series. */
  readonly values: number;
  readonly columnBytes: number;
  readonly wallMs: number;
  /** CPU of the process meanwhile, its compiler and collector threads included. */
  readonly cpuMs: number;
  /** The same again, with compiled code. */
  readonly warmMs: number;
  /** CPU of sorting a copy of each analysed column once: what the analysis is compared with. */
  readonly sortMs: number;
  /** Resident set with the columns in memory, before the first analysis. */
  readonly residentBefore: number;
  /** Largest resident set up to the end of the first analysis. */
  readonly residentPeak: number;
  /** Result, as evidence that the work was done. */
  readonly classes: string;
}

const recording = benchRecording(Number(process.argv[2]));
const residentBefore = process.memoryUsage.rss();
const cpu = process.cpuUsage();
const start = performance.now();
const document = analyze(recording);
const wallMs = performance.now() - start;
const { user, system } = process.cpuUsage(cpu);
const residentPeak = process.resourceUsage().maxRSS * 1024;
const again = performance.now();
analyze(recording);
const warmMs = performance.now() - again;
const copies = recording.tables.flatMap(({ columns }) => Object.values(columns).map((column) => column.slice()));
const sorting = process.cpuUsage();
for (const copy of copies) copy.sort();
const sorted = process.cpuUsage(sorting);
const result: OneResult = {
  values: document.series.reduce((sum, series) => sum + series.samples, 0),
  columnBytes: columnBytes(recording),
  wallMs,
  cpuMs: (user + system) / 1000,
  warmMs,
  sortMs: (sorted.user + sorted.system) / 1000,
  residentBefore,
  residentPeak,
  classes: [...new Set(document.series.map((series) => `${series.metric} ${series.class}`))].sort().join(", "),
};
console.log(JSON.stringify(result));
