import type { MeasuredRun, MeasuredSeries, Measurements } from "../../analysis/measurements.ts";

/** One run of one allocated series on cuda:0, for tests. */
export function runOf(
  session: string,
  parts: Partial<MeasuredSeries> & { readonly peak_bytes: number | null },
  more: readonly Partial<MeasuredSeries>[] = [],
): MeasuredRun {
  const base: MeasuredSeries = { rank: 0, device: "cuda:0", metric: "allocated", peak_bytes: null };
  return { session, commit: null, series: [parts, ...more].map((one) => ({ ...base, ...one })) };
}

/** Measurements of the runs, in an unknown environment unless one is given. */
export function measured(runs: readonly MeasuredRun[], fingerprint: Measurements["fingerprint"] = null): Measurements {
  return { scenario: "train", fingerprint, runs };
}

/** `count` runs of the same values, each of another session. */
export function nights(count: number, parts: Parameters<typeof runOf>[1]): readonly MeasuredRun[] {
  return Array.from({ length: count }, (_, night) => runOf(`night-${night}`, parts));
}
