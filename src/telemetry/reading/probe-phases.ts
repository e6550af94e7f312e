import type { ProbePhase, ProbeProcess } from "../recording/model.ts";

/** A phase that a process named, in CLOCK_MONOTONIC nanoseconds. */
interface ReportedPhase {
  readonly name: string;
  readonly began: bigint;
  /** Null without an end, or when the process was killed before recording it. */
  readonly ended: bigint | null;
}

/** Phases of a process. */
export interface ReportedPhases {
  /** In the order in which they were entered. */
  readonly phases: readonly ReportedPhase[];
  /** Number of further phases. */
  readonly dropped: number;
}

/** The probe keeps no more per process, and no longer names. Its file is untrusted all the same. */
export const MAX_PHASES = 256;
const MAX_PHASE_NAME = 80;

/** The phases among the lines of an info file. Invalid lines are ignored. */
export function phasesIn(values: ReadonlyMap<string, string>): ReportedPhases {
  const found: (ReportedPhase & { readonly number: number })[] = [];
  for (const [key, value] of values) {
    const number = Number(/^phase\.(\d{1,3})$/.exec(key)?.[1] ?? Number.NaN);
    const [, began = "", ended = "", text = ""] = /^(\d{1,19}) (-|\d{1,19}) (.*)$/s.exec(value) ?? [];
    if (!(number < MAX_PHASES) || began === "") continue;
    // Cut between code points, so that no surrogate is split.
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

/** A process with its phases on the recording's clock, or unchanged without any. */
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
    // The command did not run before the recording began.
    .filter(
      ({ began_ns: from, ended_ns: to }) => from >= 0 && Number.isSafeInteger(from) && Number.isSafeInteger(to ?? 0),
    );
  return {
    ...process,
    ...(known.length === 0 ? {} : { phases: known }),
    ...(dropped === 0 ? {} : { phases_dropped: dropped }),
  };
}
