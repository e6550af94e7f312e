import { invalidInput } from "../../core/errors.ts";
import type { Recording, SampleTable } from "../recording/model.ts";

/** A table's clock shifted by `shiftNs`. Not copied for a shift of 0. */
function shifted(table: SampleTable, shiftNs: number): SampleTable {
  if (shiftNs === 0 || table.timeNs === null) return table;
  return { ...table, timeNs: table.timeNs.map((time) => time + shiftNs) };
}

/**
 * Merges shards of one run. If every shard has a wall clock, times are relative to the earliest shard's zero.
 * @throws GateError RANK_CLASH when two shards have the same rank and device
 */
export function mergeRecordings(recordings: readonly Recording[], names: readonly string[] = []): Recording {
  const [only] = recordings;
  if (recordings.length === 1 && only) return only;
  const owner = new Map<string, number>();
  for (const [i, { tables }] of recordings.entries()) {
    for (const { rank, device } of tables) {
      const key = `${rank} ${device}`;
      const other = owner.get(key);
      if (other !== undefined && other !== i) {
        throw invalidInput(
          "RANK_CLASH",
          `rank ${rank} on ${device} is in two files: ${names[other] ?? `file ${other + 1}`} and ${names[i] ?? `file ${i + 1}`}`,
          names[i],
          "Several files are read as one run, one per rank. For separate runs, use --batch.",
        );
      }
      owner.set(key, i);
    }
  }
  const epochs = recordings.map((recording) => recording.epochNs).filter((epoch) => epoch !== null);
  const aligned = epochs.length === recordings.length && epochs.length > 0;
  // Sorted, because Math.min does not take bigints.
  const epochNs = aligned ? (epochs.sort((a, b) => Number(a - b))[0] ?? null) : null;
  const shiftOf = (recording: Recording) =>
    epochNs === null || recording.epochNs === null ? 0 : Number(recording.epochNs - epochNs);
  const missing: Record<string, number> = {};
  for (const recording of recordings) {
    for (const [column, count] of Object.entries(recording.missing)) missing[column] = (missing[column] ?? 0) + count;
  }
  const sizes = recordings.map((recording) => recording.worldSize).filter((size) => size !== null);
  const cut = recordings.flatMap((recording) => recording.cut ?? []);
  const withEvents = recordings.filter((recording) => recording.events !== null);
  return {
    epochNs,
    tables: recordings
      .flatMap((recording) => recording.tables.map((table) => shifted(table, shiftOf(recording))))
      .sort((a, b) => a.rank - b.rank),
    peaks: recordings.flatMap((recording) => recording.peaks),
    marks: recordings
      .flatMap((recording) => recording.marks.map((mark) => ({ ...mark, timeNs: mark.timeNs + shiftOf(recording) })))
      .sort((a, b) => a.timeNs - b.timeNs),
    events: withEvents.length === 0 ? null : withEvents.flatMap((recording) => recording.events ?? []),
    worldSize: sizes.length === 0 ? null : Math.max(...sizes),
    missing,
    info:
      recordings
        .map((recording) => recording.info)
        .filter((info) => info !== null)
        .sort((a, b) => a.identity.rank - b.identity.rank)[0] ?? null,
    ...(cut.length > 0 ? { cut } : {}),
  };
}
