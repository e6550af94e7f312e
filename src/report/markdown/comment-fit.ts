/** What a part of a comment says, the most important first: where room runs out, the last of these goes first. */
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
  "accepted",
  "policy",
  "checks",
  "environment",
  "findings",
  "warnings",
  "chart",
  "passed",
  "details",
] as const;

export type PartKind = (typeof IMPORTANCE)[number];

/** How a part that did not fit is called. */
const NAMES: Readonly<Record<PartKind, string>> = {
  title: "the title",
  footer: "links",
  overview: "the overview",
  reason: "reasons",
  notes: "notices",
  error: "output of failed commands",
  line: "lines that grow",
  image: "timelines",
  next: "next steps",
  accepted: "accepted differences",
  policy: "changes of the policy",
  checks: "tables of checks",
  environment: "environment differences",
  findings: "findings",
  warnings: "warnings",
  chart: "charts",
  passed: "what passed",
  details: "environment and runs",
};

/** A part of the text. */
export interface Part {
  readonly kind: PartKind;
  /** Of two parts of a kind the one with the larger number goes first. */
  readonly at: number;
  readonly text: string;
  /** What stays of it where the text itself does not fit. */
  readonly short?: string;
}

const BREAK = "\n\n";
/** Room for the line that says what was left out, whatever it was. */
const NOTICE_CHARS = 500;

/**
 * Join the parts, in the order they come, within `most` characters: the least important of them are left out, and a line says which.
 */
export function fitParts(parts: readonly Part[], most: number): string {
  const whole = join(parts);
  if (whole.length <= most) return whole;
  const dropped = new Set<Part>();
  let length = whole.length + NOTICE_CHARS + BREAK.length;
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

function join(parts: readonly Part[]): string {
  return `${parts.map(({ text }) => text).join(BREAK)}\n`;
}

function notice(dropped: readonly Part[]): string {
  const names = IMPORTANCE.flatMap((kind) => {
    const count = dropped.filter((part) => part.kind === kind).length;
    return count === 0 ? [] : [count === 1 ? NAMES[kind] : `${NAMES[kind]} (${count}×)`];
  });
  return `…some parts did not fit here: ${names.join(", ")}. The evidence bundle has everything.`;
}
