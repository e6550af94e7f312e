import { gunzipSync, gzipSync } from "node:zlib";
import * as v from "valibot";
import { MIB } from "../../core/units.ts";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
/** Bytes in base64, from this position on. */
const Piece = v.object({ at: count, bytes: v.string() });

/**
 * A segment of streamed evidence, compressed JSON. A bucket that is mounted as a directory cannot append and often
 * cannot rename: a segment is written once, and one that was cut while it was written fails its checksum.
 */
const SegmentSchema = v.object({
  schema: v.literal("stormlog.stream/1"),
  /** What `recording.json` contains by now. */
  info: v.looseObject({}),
  /** Names of programs by pid. */
  programs: v.array(v.tuple([count, v.string()])),
  /** Header of the record file. */
  header: v.string(),
  /** What the record file has more than before. */
  records: Piece,
  /** What a long run holds back from its record file, more than before; the position is the number of the first. */
  held: Piece,
  /** Small files of the run's directory, and the end of the output. */
  files: v.record(v.pipe(v.string(), v.regex(/^(output\.log|probe\/[\w.]+)$/)), v.string()),
});
export type Segment = v.InferOutput<typeof SegmentSchema>;

const MAX_BYTES = 256 * MIB;

export const SEGMENT_NAME = /^\d{6,9}\.json\.gz$/;
export const segmentName = (number: number): string => `${String(number).padStart(6, "0")}.json.gz`;

export const encodeSegment = (segment: Omit<Segment, "schema">): Buffer =>
  gzipSync(JSON.stringify({ schema: "stormlog.stream/1", ...segment }), { level: 1 });

/** Null for a segment that was cut, or is none. */
export function decodeSegment(bytes: Uint8Array): Segment | null {
  try {
    return v.parse(SegmentSchema, JSON.parse(gunzipSync(bytes, { maxOutputLength: MAX_BYTES }).toString("utf8")));
  } catch {
    return null;
  }
}
