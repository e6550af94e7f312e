import { writeOwn } from "../../core/files.ts";

/** GitHub drops a step's summary above 1 MiB, and can silently drop one just under it. */
export const MAX_SUMMARY_BYTES = 900_000;

const CUT_NOTICE = "\n\n…the rest is in the evidence bundle.\n";

/** Cut to a number of UTF-8 bytes at a line end, never inside a character, with a notice. */
export function boundSummary(markdown: string, maxBytes: number): string {
  if (Buffer.byteLength(markdown) <= maxBytes) return markdown;
  const room = maxBytes - Buffer.byteLength(CUT_NOTICE);
  if (room <= 0) return "";
  const head = new TextDecoder().decode(Buffer.from(markdown).subarray(0, room), { stream: true });
  const lineEnd = head.lastIndexOf("\n");
  const kept = lineEnd > 0 ? head.slice(0, lineEnd) : head;
  // A cut inside a code block would swallow the notice.
  const fences = kept.match(/^ {0,3}```/gm)?.length ?? 0;
  return `${fences % 2 === 1 ? kept.slice(0, kept.lastIndexOf("```")) : kept}${CUT_NOTICE}`;
}

/** Append to the job summary, within its size limit, which gates share. @returns false when it cannot be written */
export function writeSummary(file: string | undefined, markdown: string): boolean {
  if (!file) return false;
  let text = "";
  try {
    writeOwn(file, "append", (used) => {
      text = boundSummary(`${markdown.trimEnd()}\n\n`, MAX_SUMMARY_BYTES - used);
      return text === "" ? null : text;
    });
  } catch {
    return false;
  }
  return text !== "";
}
