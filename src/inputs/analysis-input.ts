import type { Measurements } from "../analysis/measurements.ts";
import { parseMeasurements, skippedMetrics } from "../analysis/parse-measurements.ts";
import type { AnalysisDocument } from "../analysis/series/document.ts";
import { missingRanks } from "../analysis/stormlog/cross-rank.ts";
import { recordToMeasurements } from "../baseline/record.ts";
import { invalidInput } from "../core/errors.ts";
import { mergeRecordings } from "../telemetry/reading/merge.ts";
import type { Recording, Telemetry } from "../telemetry/recording/model.ts";
import { readInput } from "./telemetry-input.ts";

/** Input of `analyze`: samples, or a document whose features are already known. */
export type AnalysisInput = { readonly notes: readonly string[] } & (
  | { readonly kind: "recording"; readonly recording: Recording }
  | { readonly kind: "document"; readonly document: AnalysisDocument }
);

/** The newest run of a measurements file as an analysis. Features that need samples are null. */
function analysisOfMeasurements(measurements: Measurements): AnalysisDocument {
  const newest = measurements.runs.at(-1);
  const whole = (newest?.series ?? []).filter(({ phase }) => phase === undefined);
  const series = whole.map((one): AnalysisDocument["series"][number] => ({
    rank: one.rank,
    device: one.device,
    metric: one.metric,
    highwater: one.metric === "reserved" || one.metric === "used",
    samples: 0,
    duration_s: null,
    steps: null,
    peak_bytes: one.peak_bytes,
    peak_kind: "sampled",
    slope_bytes_per_s: one.slope_bytes_per_s ?? null,
    slope_bytes_per_step: one.slope_bytes_per_step ?? null,
    slope_interval: null,
    growth_bytes: one.growth_bytes ?? null,
    class: one.class ?? "insufficient",
    mde_bytes: null,
    steps_to_oom: null,
    seconds_to_oom: null,
    ...(one.cut === true ? { cut: true } : {}),
  }));
  const ranks = [...new Set(series.map(({ rank }) => rank))].sort((a, b) => a - b);
  const worldSize = (ranks.at(-1) ?? 0) + 1;
  return {
    schema: "stormlog.analysis/1",
    ...(newest?.analysis_version === undefined ? {} : { analysis_version: newest.analysis_version }),
    series,
    findings: [],
    diagnosis: [],
    ranks: {
      job_id: null,
      world_size: worldSize,
      participating_ranks: ranks,
      missing_ranks: missingRanks(ranks, worldSize),
      rank_sample_counts: {},
      alignment_offsets_ns: {},
      cluster_onset_timestamp_ns: null,
      first_cause_suspects: [],
      notes: [],
    },
    missing: {},
  };
}

const ofMeasurements = (measurements: Measurements, file: string): AnalysisInput => ({
  kind: "document",
  document: analysisOfMeasurements(measurements),
  notes: skippedMetrics(file, measurements),
});

/** A run's own name: recordings of ranks that were merged lie below that of their run, `train/1/rank-0007`. */
const runOf = (name: string): string => /^.+\/(?:base-|attribution-)?\d{1,4}(?=\/)/.exec(name)?.[0] ?? name;

function single(telemetry: Telemetry, file: string): AnalysisInput {
  switch (telemetry.kind) {
    case "recording":
      return { kind: "recording", recording: telemetry.recording, notes: telemetry.notes };
    case "runs": {
      const newest = telemetry.runs.at(-1);
      if (newest === undefined) throw invalidInput("INPUT_EMPTY", `${file} holds no runs`, file);
      const shards = telemetry.runs.filter(({ name }) => runOf(name) === runOf(newest.name));
      const runs = new Set(telemetry.runs.map(({ name }) => runOf(name))).size;
      const several = runs > 1 ? [`${file} holds ${runs} runs; this is ${runOf(newest.name)}`] : [];
      const recording = mergeRecordings(
        shards.map((shard) => shard.recording),
        shards.map(({ name }) => name),
      );
      return { kind: "recording", recording, notes: [...several, ...telemetry.notes] };
    }
    case "measurements":
      return ofMeasurements(parseMeasurements(telemetry.document, file), file);
    case "baseline":
      return ofMeasurements(recordToMeasurements(telemetry.document, file), file);
    default:
      return telemetry satisfies never;
  }
}

/** Read files as one document: several are shards of one run. @throws GateError INPUT_…, RANK_CLASH (exit 5) */
export async function analysisInput(files: readonly string[]): Promise<AnalysisInput> {
  const inputs: AnalysisInput[] = [];
  for (const file of files) inputs.push(single(await readInput(file), file));
  const [first, ...rest] = inputs;
  if (first !== undefined && rest.length === 0) return first;
  const recordings = inputs.map((input, index) => {
    if (input.kind === "recording") return input.recording;
    throw invalidInput(
      "INPUT_NOT_A_SHARD",
      `${files[index]} holds no samples, so it cannot be one shard of a run`,
      files[index],
      "Use --batch for a document per file.",
    );
  });
  return {
    kind: "recording",
    recording: mergeRecordings(recordings, files),
    notes: inputs.flatMap(({ notes }) => notes),
  };
}
