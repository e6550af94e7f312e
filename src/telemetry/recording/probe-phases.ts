import type { ProbePhase, ProbeProcess } from "./model.ts";

/** A part of its program that a process named, by CLOCK_MONOTONIC nanoseconds. */
export interface ReportedPhase {
  readonly name: string;
  readonly began: bigint;
  /** Null when it was not over, or the process was killed before it could tell. */
  readonly ended: bigint | null;
}

/** What a process told of its phases. */
export interface ReportedPhases {
  /** In the order in which they were entered. */
  readonly phases: readonly ReportedPhase[];
  /** How many more there were. */
  readonly dropped: number;
}

/** The probe keeps no more of a process, and no longer names; what stands in its file is outside text all the same. */
export const MAX_PHASES = 256;
export const MAX_PHASE_NAME = 80;

const KEY = /^phase\.(\d{1,3})$/;
const VALUE = /^(\d{1,19}) (-|\d{1,19}) (.*)$/s;

/** The phases among the lines of an info file; what makes no sense is left out. */
export function phasesIn(values: ReadonlyMap<string, string>): ReportedPhases {
  const found: (ReportedPhase & { readonly number: number })[] = [];
  for (const [key, value] of values) {
    const number = Number(KEY.exec(key)?.[1] ?? Number.NaN);
    const [, began = "", ended = "", text = ""] = VALUE.exec(value) ?? [];
    if (!(number < MAX_PHASES) || began === "") continue;
    // Of whole characters: half of one would be no text.
    const name = [...text.replace(/[\p{Cc}\p{Cs}]/gu, " ").trim()].slice(0, MAX_PHASE_NAME).join("");
    const phase = { number, name, began: BigInt(began), ended: ended === "-" ? null : BigInt(ended) };
    if (name !== "" && (phase.ended === null || phase.ended >= phase.began)) found.push(phase);
  }
  const dropped = values.get("phases_dropped") ?? "";
  return {
    phases: found.sort((a, b) => a.number - b.number).map(({ name, began, ended }) => ({ name, began, ended })),
    dropped: /^\d{1,15}$/.test(dropped) ? Number(dropped) : 0,
  };
}

/** A process with its phases on the recording's clock; the same process where it named none. */
export function withPhases(
  process: ProbeProcess,
  { phases, dropped }: ReportedPhases,
  monotonicStartNs: bigint,
): ProbeProcess {
  const since = (moment: bigint): number => Number(moment - monotonicStartNs);
  const known = phases
    .map(
      ({ name, began, ended }): ProbePhase => ({
        name,
        began_ns: since(began),
        ended_ns: ended === null ? null : since(ended),
      }),
    )
    // Nothing of the command ran before the recording began.
    .filter(
      ({ began_ns: from, ended_ns: to }) => from >= 0 && Number.isSafeInteger(from) && Number.isSafeInteger(to ?? 0),
    );
  return {
    ...process,
    ...(known.length === 0 ? {} : { phases: known }),
    ...(dropped === 0 ? {} : { phases_dropped: dropped }),
  };
}
