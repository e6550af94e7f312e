import path from "node:path";
import { groupBy } from "../../core/group-by.ts";
import { cutText } from "../../core/text.ts";
import { MAX_FRAMES, type PeakReport, type PeakRow } from "../../report/model/peak-report.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { pairedLines, type ReadPart } from "./name-peak-lines.ts";
import type { PeakOfRun } from "./peak-of-run.ts";

/** A peak that another one is compared with. */
export interface ComparedPeak extends Omit<PeakOfRun, "moment"> {
  readonly kind: "base" | "baseline";
  /** By how much the judged peak is higher. */
  readonly difference: number;
}

const MAX_TEXT = 400;
/** Frames below this share of a peak are left out of its flame graph. */
const MIN_FRAME = 0.002;

type Row = Pick<PeakRow, "bytes" | "compared_bytes">;

const sum = (parts: readonly { readonly bytes: number }[]): number =>
  Math.round(parts.reduce((total, { bytes }) => total + bytes, 0));

/** How much a row differs; without a comparison, how much it holds. */
const weight = ({ bytes, compared_bytes: compared }: Row): number => Math.abs(bytes - (compared ?? 0));

const byWeight = (a: Row, b: Row): number => weight(b) - weight(a) || b.bytes - a.bytes;

/** Both peaks by one property of their parts, what differs most first. */
function rowsBy(
  after: readonly ReadPart[],
  before: readonly ReadPart[] | null,
  nameOf: (part: ReadPart) => string,
): PeakRow[] {
  const [own, other] = [groupBy(after, nameOf), groupBy(before ?? [], nameOf)];
  return [...new Set([...own.keys(), ...other.keys()])]
    .map((name) => ({
      name,
      bytes: sum(own.get(name) ?? []),
      compared_bytes: before === null ? null : sum(other.get(name) ?? []),
    }))
    .filter((row) => row.bytes !== 0 || (row.compared_bytes ?? 0) !== 0)
    .sort(byWeight);
}

const nameOf = ({ at }: ReadPart): string => (at.line > 0 ? `${at.file}:${at.line}` : path.posix.basename(at.file));

function linesOf(after: readonly ReadPart[], before: readonly ReadPart[] | null): PeakReport["lines"] {
  return pairedLines(after, before ?? [])
    .flatMap((pair) => {
      const shown = pair.after ?? pair.before;
      if (shown === null || nameOf(shown) === "") return [];
      return [
        {
          name: cutText(nameOf(shown), MAX_TEXT),
          function: cutText(shown.at.function, MAX_TEXT),
          category: shown.category,
          phase: shown.phase,
          bytes: Math.round(pair.after?.bytes ?? 0),
          compared_bytes: before === null ? null : Math.round(pair.before?.bytes ?? 0),
        },
      ];
    })
    .sort(byWeight)
    .slice(0, 12);
}

/** What differs; a program that ended early reported nothing of this. */
function inputsOf(after: PeakOfRun["inputs"], before: PeakOfRun["inputs"]): PeakReport["inputs"] {
  if (Object.keys(after).length === 0 || Object.keys(before).length === 0) return [];
  return [...new Set([...Object.keys(after), ...Object.keys(before)])]
    .map((name) => ({ name, value: after[name] ?? null, compared: before[name] ?? null }))
    .filter(({ value, compared }) => value !== compared)
    .slice(0, 40);
}

interface ReportedFrame {
  readonly name: string;
  bytes: number;
  readonly calls: Map<string, ReportedFrame>;
}

/** The parts by stack, from the outermost frame on; the largest branches first, small ones left out. */
function flameOf(parts: readonly ReadPart[]): PeakReport["flame"] {
  const root: ReportedFrame = { name: "", bytes: 0, calls: new Map() };
  for (const part of parts) {
    if (part.bytes <= 0) continue;
    const outermost = part.stack.map(
      ({ file, line, function: name }) => `${name} ${path.posix.basename(file)}:${line}`,
    );
    const inModule = part.python ? [] : [nameOf(part)];
    const frames = [...outermost.reverse(), ...inModule]
      // Frames of Python's import system stand between a module and those that it imports.
      .filter((name) => name !== "" && !name.includes(" <frozen importlib"))
      .slice(0, 48);
    let at = root;
    at.bytes += part.bytes;
    for (const name of frames.length === 0 ? ["not by stack"] : frames) {
      const next = at.calls.get(name) ?? { name, bytes: 0, calls: new Map() };
      at.calls.set(name, next);
      next.bytes += part.bytes;
      at = next;
    }
  }
  const found: [number, string, number][] = [];
  const walk = (frame: ReportedFrame, depth: number): void => {
    if (frame.bytes < MIN_FRAME * root.bytes || found.length >= MAX_FRAMES) return;
    found.push([depth, cutText(frame.name, 160), Math.round(frame.bytes)]);
    for (const next of [...frame.calls.values()].sort((a, b) => b.bytes - a.bytes)) walk(next, depth + 1);
  };
  for (const frame of [...root.calls.values()].sort((a, b) => b.bytes - a.bytes)) walk(frame, 0);
  return found;
}

/** What the judged peak consists of, beside what it is compared with. */
export function peakReport(check: Check, after: PeakOfRun, before: ComparedPeak | null): PeakReport {
  const { rank, device, metric } = check;
  const other = before?.parts ?? null;
  const peak = Math.round(check.candidate_bytes ?? sum(after.parts));
  const seen = after.unseen !== null && (before === null || before.unseen !== null);
  return {
    rank,
    device,
    metric,
    compared_with: before?.kind ?? null,
    bytes: peak,
    compared_bytes: before === null ? null : Math.round(peak - before.difference),
    explained: { bytes: sum(after.parts), compared_bytes: other === null ? null : sum(other) },
    lines: linesOf(after.parts, other),
    categories: seen ? rowsBy(after.parts, other, ({ category }) => category ?? "not_categorised") : [],
    phases: rowsBy(after.parts, other, ({ phase }) => cutText(phase ?? "", MAX_TEXT)),
    unseen: [...(after.unseen ?? [])],
    inputs: inputsOf(after.inputs, before?.inputs ?? {}),
    flame: flameOf(after.parts),
  };
}
