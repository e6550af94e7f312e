/** Kinds of parts, the most important first. Where room runs out, the last of these is dropped first. */
const IMPORTANCE = [
  "title",
  "footer",
  "overview",
  "reason",
  "notes",
  "error",
  "line",
  "image",
  "next",
  "reproduce",
  "accepted",
  "policy",
  "checks",
  "environment",
  "findings",
  "warnings",
  "passed",
  "details",
] as const;

type PartKind = (typeof IMPORTANCE)[number];

/** A part of the text. */
export interface Part {
  readonly kind: PartKind;
  /** Of two parts of a kind, the one with the larger number is dropped first. */
  readonly at: number;
  readonly text: string;
  /** Replaces the text where that does not fit. */
  readonly short?: string;
}

const BREAK = "\n\n";
const NOTICE = "Left out for length: the least important parts. The evidence bundle has everything.";

/** The parts in order within `most` characters; the least important are dropped, with a notice. */
export function fitParts(parts: readonly Part[], most: number): string {
  const whole = `${parts.map(({ text }) => text).join(BREAK)}\n`;
  if (whole.length <= most) return whole;
  const dropped = new Set<Part>();
  let length = whole.length + NOTICE.length + BREAK.length;
  const byImportance = [...parts].sort(
    (a, b) => IMPORTANCE.indexOf(b.kind) - IMPORTANCE.indexOf(a.kind) || b.at - a.at,
  );
  for (const part of byImportance) {
    if (length <= most || part.kind === "title") break;
    dropped.add(part);
    length -= part.short === undefined ? part.text.length + BREAK.length : part.text.length - part.short.length;
  }
  const kept = parts.flatMap((part) => (dropped.has(part) ? (part.short ?? []) : part.text));
  return `${[...kept, NOTICE].join(BREAK)}\n`.slice(0, Math.max(0, most));
}
