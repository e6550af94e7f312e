import { NO_SIZES, type OomSizes } from "../recording/out-of-memory.ts";

/** Powers of 1024: PyTorch, TensorFlow, XLA, NumPy, R and the MPS allocator ("64.00 MB") all divide by 1024. */
const POWER: Readonly<Record<string, number>> = { "": 0, k: 1, m: 2, g: 3, t: 4, p: 5, e: 6 };
const exp = (before: string, after = "") =>
  new RegExp(String.raw`${before}(\d{1,20}(?:\.\d{1,6})?) ?([KMGTPE]?i?B|[KMGT]b|bytes?)\b${after}`, "i");

const PATTERNS = {
  requested: [
    exp("[Tt]ried to allocate "),
    exp(
      "(?:trying to allocate|out of memory allocating|memory allocation of|cannot allocate(?: vector of size)?|Unable to allocate) ",
    ),
    /cannot allocate (\d{1,20})()-byte block/i,
  ],
  allocated: [
    exp("Of the allocated memory ", " is allocated"),
    exp("", " already allocated"),
    exp("MPS allocated: "),
    /\b(\d{1,20})() in use\)/,
  ],
  reserved: [exp("", " reserved in total")],
  unallocated: [exp("", " is reserved by PyTorch but unallocated")],
  free: [exp("of which ", " is free"), exp("", " free\\b")],
  total: [
    exp("total capacity of "),
    exp("", " total capacity"),
    exp("max allowed: "),
    /Allowed memory size of (\d{1,20}) ?(bytes)/i,
  ],
};

function first(text: string, patterns: readonly RegExp[]): number | null {
  for (const pattern of patterns) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const unit = (match[2] ?? "").toLowerCase();
    const power = unit.startsWith("byte") ? 0 : POWER[unit.replace(/i?b$/, "")];
    const value = power === undefined ? Number.NaN : Math.round(Number(match[1]) * 1024 ** power);
    if (Number.isFinite(value)) return value;
  }
  return null;
}

/** The sizes in the text of an out-of-memory error. */
export function sizesIn(text: string): OomSizes {
  const allocated = first(text, PATTERNS.allocated);
  const unallocated = first(text, PATTERNS.unallocated);
  const total = first(text, PATTERNS.total);
  return {
    ...NO_SIZES,
    requested_bytes: first(text, PATTERNS.requested),
    allocated_bytes: allocated,
    reserved_bytes:
      first(text, PATTERNS.reserved) ?? (allocated === null || unallocated === null ? null : allocated + unallocated),
    free_bytes: first(text, PATTERNS.free),
    total_bytes: total,
  };
}

/** The device in the text of an out-of-memory error ("cuda:0", "mps:0", "host"); null without one. */
export function deviceIn(text: string): string | null {
  const gpu = /\bGPU (\d{1,4})\b/.exec(text);
  if (gpu !== null) return `cuda:${gpu[1]}`;
  if (/\bMPS backend\b/.test(text)) return "mps:0";
  return /DefaultCPUAllocator|\bCPU allocator\b/i.test(text) ? "host" : null;
}
