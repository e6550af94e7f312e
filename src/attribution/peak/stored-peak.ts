import * as v from "valibot";
import { groupBy } from "../../core/group-by.ts";
import { CATEGORIES } from "../../snapshot/live/tensor-category.ts";
import { METRICS, type Metric } from "../../telemetry/recording/metrics.ts";
import { COMPARED_CODE, type ReadPart, summedLines } from "./name-peak-lines.ts";
import type { PeakOfRun } from "./peak-of-run.ts";

const SCHEMA = "stormlog.peak/1";
/** One for each record, which is reviewed with it. */
export const MAX_STORED_PEAK = 2000;
const MAX_LINES = 24;

const text = v.pipe(v.string(), v.maxLength(500));
const bytes = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** `stormlog.peak/1`: what the peak of a baseline consists of, stored beside its record. */
const StoredPeakSchema = v.object({
  schema: v.literal(SCHEMA),
  /** When the epoch of the record was opened that it belongs to. */
  opened: text,
  device: text,
  metric: v.picklist(METRICS),
  unseen: v.nullable(v.array(text)),
  /** File, line, function, code, category, phase, bytes; the rest of each category and phase has no file. */
  parts: v.array(
    v.tuple([text, bytes, text, v.nullable(text), v.nullable(v.picklist(CATEGORIES)), v.nullable(text), bytes]),
  ),
  inputs: v.record(text, text),
});
type StoredPeak = v.InferOutput<typeof StoredPeakSchema>;

/** Which peak it is, and of which level. */
export interface PeakKey {
  readonly opened: string;
  readonly device: string;
  readonly metric: Metric;
}

/** Inputs that the record of a baseline has already, or that fill the file. */
const LEFT_OUT = new Set(["arguments"]);
const MAX_INPUT = 40;

/** The largest lines by category and phase, as many as fit, and the rest of each category and phase. */
export function storedPeak({ parts, unseen, inputs }: Omit<PeakOfRun, "moment">, key: PeakKey): string {
  const lines = summedLines(parts);
  for (let most = MAX_LINES; ; most -= 1) {
    const shown = lines.slice(0, Math.max(0, most));
    const rest = groupBy(lines.slice(shown.length), ({ category, phase }) => `${category}\0${phase}`);
    const others = [...rest.values()].map((own) => {
      const sum = own.reduce((total, part) => total + part.bytes, 0);
      return ["", 0, "", null, own[0]?.category ?? null, own[0]?.phase ?? null, Math.round(sum)] as const;
    });
    const document: StoredPeak = {
      schema: SCHEMA,
      ...key,
      unseen: unseen === null ? null : [...unseen],
      parts: [
        ...shown.map(({ at, code, category, phase, bytes: own }): StoredPeak["parts"][number] => {
          return [
            at.file,
            at.line,
            at.function,
            code?.slice(0, COMPARED_CODE) ?? null,
            category,
            phase,
            Math.round(own),
          ];
        }),
        ...others.map((one): StoredPeak["parts"][number] => [...one]),
      ],
      inputs: Object.fromEntries(
        Object.entries(inputs).filter(([name, value]) => !LEFT_OUT.has(name) && value.length <= MAX_INPUT && most > 4),
      ),
    };
    const written = `${JSON.stringify(document)}\n`;
    if (Buffer.byteLength(written) <= MAX_STORED_PEAK || most <= 0) return written;
  }
}

function parsePeak(written: string): StoredPeak | null {
  let json: unknown;
  try {
    json = JSON.parse(written);
  } catch {
    return null;
  }
  const parsed = v.safeParse(StoredPeakSchema, json);
  return parsed.success ? parsed.output : null;
}

/** When the epoch was opened that a stored peak belongs to; null where it is damaged. */
export function epochOf(written: string): string | null {
  return parsePeak(written)?.opened ?? null;
}

/** A peak that another process wrote, as that of an epoch of the store; null where it is damaged or too large. */
export function withEpoch(written: string, opened: string): string | null {
  const peak = parsePeak(written);
  const text = peak && `${JSON.stringify({ ...peak, opened })}\n`;
  return text !== null && Buffer.byteLength(text) <= MAX_STORED_PEAK ? text : null;
}

/** The peak of a baseline; null where it is damaged, or is that of another series or level. */
export function readStoredPeak(written: string, key: PeakKey): Omit<PeakOfRun, "moment"> | null {
  const peak = parsePeak(written);
  if (peak === null) return null;
  const { opened, device, metric, parts, unseen, inputs } = peak;
  if (opened !== key.opened || device !== key.device || metric !== key.metric) return null;
  const known = { stack: [], called: null, place: null, isInterpreter: false, variance: 0 } as const;
  return {
    parts: parts.map(([file, line, name, code, category, phase, own]): ReadPart => {
      return { at: { file, line, function: name }, python: line > 0, bytes: own, code, category, phase, ...known };
    }),
    unseen,
    inputs,
  };
}
