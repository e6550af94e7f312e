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

/** Names of dropped parts in the notice. */
const NAMES: Readonly<Record<PartKind, string>> = {
  title: "the title",
  footer: "links",
  overview: "the overview",
  reason: "reasons",
  notes: "notices",
  error: "output of failed commands",
  line: "growing lines",
  image: "timelines",
  next: "next steps",
  reproduce: "commands that reproduce a failure",
  accepted: "accepted differences",
  policy: "policy changes",
  checks: "tables of checks",
  environment: "environment differences",
  findings: "findings",
  warnings: "notes",
  passed: "passed legs",
  details: "environment and runs",
};

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

/** The parts in order within `most` characters; the least important are dropped, and a notice lists their kinds. */
export function fitParts(parts: readonly Part[], most: number): string {
  const whole = `${parts.map(({ text }) => text).join(BREAK)}\n`;
  if (whole.length <= most) return whole;
  const dropped = new Set<Part>();
  // Room for the longest notice.
  let length = whole.length + 500 + BREAK.length;
  const byImportance = [...parts].sort(
    (a, b) => IMPORTANCE.indexOf(b.kind) - IMPORTANCE.indexOf(a.kind) || b.at - a.at,
  );
  for (const part of byImportance) {
    if (length <= most || part.kind === "title") break;
    dropped.add(part);
    length -= part.short === undefined ? part.text.length + BREAK.length : part.text.length - part.short.length;
  }
  const kept = parts.flatMap((part) => (dropped.has(part) ? (part.short ?? []) : part.text));
  return `${[...kept, notice([...dropped])].join(BREAK)}\n`.slice(0, Math.max(0, most));
}

function notice(dropped: readonly Part[]): string {
  const names = IMPORTANCE.flatMap((kind) => {
    const count = dropped.filter((part) => part.kind === kind).length;
    return count === 0 ? [] : [count === 1 ? NAMES[kind] : `${NAMES[kind]} (${count}×)`];
  });
  return `Left out for length: ${names.join(", ")}. The evidence bundle has everything.`;
}
