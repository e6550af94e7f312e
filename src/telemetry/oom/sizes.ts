import { NO_SIZES, type OomSizes } from "../recording/out-of-memory.ts";

/** Powers of 1024: PyTorch, TensorFlow, XLA, NumPy, R and the MPS allocator ("64.00 MB") all divide by 1024. */
const POWER: Readonly<Record<string, number>> = { "": 0, k: 1, m: 2, g: 3, t: 4, p: 5, e: 6 };
const SIZE = String.raw`(\d{1,20}(?:\.\d{1,6})?) ?([KMGTPE]?i?B|[KMGT]b|bytes?)\b`;

const exp = (before: string, after = "") => new RegExp(`${before}${SIZE}${after}`, "i");

const REQUESTED = [
  exp("[Tt]ried to allocate "),
  exp(
    "(?:trying to allocate|out of memory allocating|memory allocation of|cannot allocate(?: vector of size)?|Unable to allocate) ",
  ),
  /cannot allocate (\d{1,20})()-byte block/i,
];
const ALLOCATED = [
  exp("Of the allocated memory ", " is allocated"),
  exp("", " already allocated"),
  exp("MPS allocated: "),
  /\b(\d{1,20})() in use\)/,
];
const RESERVED = [exp("", " reserved in total")];
const UNALLOCATED = [exp("", " is reserved by PyTorch but unallocated")];
const FREE = [exp("of which ", " is free"), exp("", " free\\b")];
const TOTAL = [
  exp("total capacity of "),
  exp("", " total capacity"),
  exp("max allowed: "),
  /Allowed memory size of (\d{1,20}) ?(bytes)/i,
];

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
  const allocated = first(text, ALLOCATED);
  const unallocated = first(text, UNALLOCATED);
  const total = first(text, TOTAL);
  return {
    ...NO_SIZES,
    requested_bytes: first(text, REQUESTED),
    allocated_bytes: allocated,
    reserved_bytes:
      first(text, RESERVED) ?? (allocated === null || unallocated === null ? null : allocated + unallocated),
    free_bytes: first(text, FREE),
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
