import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";

/** One recorded series that its owners accept as healthy. */
export interface RealSeries {
  /** Series of one test case are near copies of each other: evidence is counted in cases as well. */
  readonly testCase: string;
  readonly kind: "level" | "highwater";
  readonly steps: Float64Array;
  readonly bytes: Float64Array;
}

const LineSchema = v.object({
  path: v.string(),
  metric: v.string(),
  steps: v.union([v.array(v.number()), v.object({ start: v.number(), interval: v.number(), n: v.number() })]),
  rle: v.array(v.tuple([v.number(), v.number()])),
});

/** Megatron-LM's golden series from `megatron-lm/golden_mem_series.jsonl` below the data directory. */
export function readRealSeries(data: string): RealSeries[] {
  const text = readFileSync(join(data, "megatron-lm", "golden_mem_series.jsonl"), "utf8");
  return text
    .split("\n")
    .filter((line) => line.startsWith('{"path"'))
    .map((line): RealSeries => {
      const { path, metric, steps, rle } = v.parse(LineSchema, JSON.parse(line));
      return {
        testCase: path.split("/").slice(0, -1).join("/"),
        kind: metric.includes("max") ? "highwater" : "level",
        steps: Array.isArray(steps)
          ? Float64Array.from(steps)
          : Float64Array.from({ length: steps.n }, (_, i) => steps.start + i * steps.interval),
        bytes: Float64Array.from(rle.flatMap(([bytes, count]) => Array<number>(count).fill(bytes))),
      };
    });
}
