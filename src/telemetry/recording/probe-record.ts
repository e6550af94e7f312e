import { MAX_MESSAGE, type OomSizes } from "./out-of-memory.ts";

/** Record of the probe about one out-of-memory error. */
export interface ProbeOom {
  /** File names in the probe's directory. */
  readonly file: string;
  readonly snapshot: string | null;
  /** `torch-observer`, `torch-exception`, `memory-error`, `hook`, …; "" when the record lacks it. */
  readonly kind: string;
  /** CLOCK_MONOTONIC; null when the record lacks it. */
  readonly monotonicNs: bigint | null;
  readonly pid: number | null;
  readonly rank: number | null;
  readonly exception: string | null;
  readonly message: string | null;
  readonly device: string | null;
  readonly sizes: OomSizes;
  readonly step: number | null;
  readonly traceback: string | null;
}

/** `<pid>.<n>.oom.<k>` */
export const OOM_FILE = /^((\d{1,10})\.\d{1,6})\.oom\.(\d{1,6})$/;

/** Lines `key=value`, with `%`, CR and LF percent-encoded. Lines without `=` are skipped: a process may die writing. */
export function probeLines(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    const equals = line.indexOf("=");
    if (equals <= 0) continue;
    const value = line
      .slice(equals + 1)
      .replace(/\r$/, "")
      .replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    values.set(line.slice(0, equals).trim(), value);
  }
  return values;
}

/** A whole number of at least 0; null for anything else. */
export function whole(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,16}$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}

/** A size in bytes. An impossible one (a program may request 2^60) is rounded to a double. */
function size(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,20}$/.test(text) ? Number(text) : null;
}

/** Nanoseconds of a clock; null for anything else. */
export const moment = (text: string | undefined): bigint | null =>
  text !== undefined && /^\d{1,19}$/.test(text) ? BigInt(text) : null;

const some = (text: string | undefined): string | null => (text === undefined || text === "" ? null : text);

/** Parses the record of one error; `info` is the text of the process's `.info`, or "". Accepts any untrusted text. */
export function probeOom(name: string, text: string, info: string): ProbeOom {
  const values = probeLines(text);
  const process = probeLines(info);
  const snapshot = some(values.get("snapshot"));
  return {
    file: name,
    snapshot: snapshot !== null && /^\d{1,10}\.\d{1,6}\.oom\.\d{1,6}\.pickle$/.test(snapshot) ? snapshot : null,
    kind: values.get("kind") ?? "",
    monotonicNs: moment(values.get("time_ns")),
    pid: whole(process.get("pid")) ?? whole(OOM_FILE.exec(name)?.[2]),
    rank: whole(process.get("rank")),
    // Python omits the module of builtin exceptions as well.
    exception: some(values.get("exception")?.replace(/^builtins\./, "")),
    message: some(values.get("message")?.slice(0, MAX_MESSAGE)),
    device: some(values.get("device")),
    sizes: {
      requested_bytes: size(values.get("requested_bytes")),
      allocated_bytes: size(values.get("allocated_bytes")),
      reserved_bytes: size(values.get("reserved_bytes")),
      free_bytes: size(values.get("free_bytes")),
      total_bytes: size(values.get("total_bytes")),
    },
    step: whole(values.get("step")),
    traceback: some(values.get("traceback")),
  };
}
