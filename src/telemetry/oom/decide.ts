import type { ExitState } from "../recording/model.ts";
import { type KernelFacts, secondsText } from "./kernel.ts";
import type { OutputMessage } from "./messages.ts";
import { NO_SIZES, type OutOfMemory } from "./out-of-memory.ts";
import type { ProbeOom } from "./probe-record.ts";
import { inOrder, probeWitness } from "./probe-witness.ts";
import { deviceIn, sizesIn } from "./sizes.ts";
import { stackAround } from "./stack.ts";

/** Everything that may speak for a run having run out of memory. */
export interface OomFacts {
  readonly exit: ExitState;
  /** CLOCK_MONOTONIC of time zero. */
  readonly startNs: bigint;
  readonly probe: readonly ProbeOom[];
  readonly kernel: KernelFacts;
  /** What the command printed, as far as it was kept. */
  readonly output: string;
  readonly messages: readonly OutputMessage[];
}

/**
 * How far from the end of the output, in characters, bare words ("Cannot allocate memory") are taken for the reason of a
 * failure. A report of a runtime's own is, wherever it stands: what other ranks print after it can be long.
 */
const WORDS_FROM_END = 8192;

/** Worth of each kind of evidence; the order matters more than the numbers. */
const CONFIDENCE = {
  probe: 1,
  /** The kernel's log names a process of the job, or the full group holds nothing but the job. */
  kernelCertain: 1,
  /** A counter of a group or machine that others share rose, and the command died as the kernel kills. */
  kernelKilled: 0.95,
  /** Only the whole machine's counter rose, and the command died as the kernel kills. */
  machineKilled: 0.8,
  /** A shared group's counter rose, and the command failed in another way (a launcher that lost its worker). */
  kernelFailed: 0.85,
  report: 0.95,
  words: 0.75,
  suspected: 0.5,
} as const;

/** How an ending counts: as the kernel kills (SIGKILL itself, or a shell's 128 + 9), in another way, in order. */
type Ending = "killed" | "failed" | "ok";

function endingOf(exit: ExitState): Ending {
  if (exit.kind === "exited") return exit.code === 0 ? "ok" : exit.code === 137 ? "killed" : "failed";
  return exit.kind === "signaled" && exit.signal === "SIGKILL" ? "killed" : "failed";
}

type Told = Omit<OutOfMemory, "errors" | "evidence" | "swallowed">;

const UNKNOWN: Omit<Told, "certainty" | "confidence" | "source" | "runtime"> = {
  time_ns: null,
  pid: null,
  rank: null,
  device: null,
  exception: null,
  message: null,
  ...NO_SIZES,
  step: null,
  stack: [],
};

function byProbe(facts: OomFacts, ending: Ending): { readonly told: Told; readonly sentence: string } | null {
  const first = inOrder(facts.probe)[0];
  if (first === undefined) return null;
  const witness = probeWitness(first, facts.startNs);
  const at = witness.time_ns === null ? "" : ` ${secondsText(witness.time_ns)} after the start`;
  const ended = ending === "ok" ? ", and the command went on" : "";
  return {
    told: { ...UNKNOWN, certainty: "established", confidence: CONFIDENCE.probe, source: "probe", ...witness },
    sentence: `the probe saw ${first.exception ?? "an out-of-memory error"} in process ${first.pid ?? "?"}${at}${ended}`,
  };
}

function byKernel(facts: OomFacts, ending: Ending): { readonly told: Told; readonly sentence: string } | null {
  const { group, machineKills, victims } = facts.kernel;
  const victim = victims[0];
  const told = (certainty: Told["certainty"], confidence: number): Told => ({
    ...UNKNOWN,
    certainty,
    confidence,
    source: "kernel",
    runtime: "kernel",
    time_ns: victim !== undefined ? Math.max(0, Number(victim.monotonicNs - facts.startNs)) : (group?.timeNs ?? null),
    pid: victim?.pid ?? null,
    device: "host",
    message: victim === undefined ? null : `the kernel killed process ${victim.pid} (${victim.name})`,
    allocated_bytes: victim?.anonBytes ?? null,
    total_bytes: victim?.limitBytes ?? null,
  });
  if (victim !== undefined) {
    return {
      told: told("established", CONFIDENCE.kernelCertain),
      sentence: `the kernel's log says that it killed process ${victim.pid} (${victim.name}) of this run for want of memory`,
    };
  }
  if (group !== null) {
    const kills = `the kernel killed ${group.kills === 1 ? "a process" : `${group.kills} processes`} of the run's memory group`;
    if (group.dedicated) return { told: told("established", CONFIDENCE.kernelCertain), sentence: kills };
    const shared = `${kills}, which others may share`;
    if (ending === "ok") return { told: told("suspected", CONFIDENCE.suspected), sentence: shared };
    const confidence = ending === "killed" ? CONFIDENCE.kernelKilled : CONFIDENCE.kernelFailed;
    return { told: told("established", confidence), sentence: shared };
  }
  if (machineKills === null || machineKills === 0 || ending === "ok") return null;
  const sentence = `the kernel of this machine killed ${machineKills === 1 ? "a process" : `${machineKills} processes`} for want of memory during the run`;
  return ending === "killed"
    ? { told: told("established", CONFIDENCE.machineKilled), sentence }
    : { told: told("suspected", CONFIDENCE.suspected), sentence };
}

function byOutput(facts: OomFacts, ending: Ending): { readonly told: Told; readonly sentence: string } | null {
  const reports = facts.messages.filter(({ wording }) => wording === "report");
  const words = facts.messages.filter(({ fromEnd }) => fromEnd <= WORDS_FROM_END);
  // The last report is the one the run ended by; one with a size tells more than the words around it.
  const best =
    reports.findLast(({ text }) => sizesIn(text).requested_bytes !== null) ??
    reports.at(-1) ??
    (ending === "ok" ? undefined : words.at(-1));
  if (best === undefined) return null;
  const established = ending !== "ok";
  const worth = best.wording === "report" ? CONFIDENCE.report : CONFIDENCE.words;
  return {
    told: {
      ...UNKNOWN,
      certainty: established ? "established" : "suspected",
      confidence: established ? worth : CONFIDENCE.suspected,
      source: "output",
      runtime: best.runtime,
      device: deviceIn(best.text),
      exception: best.exception,
      message: best.text,
      ...sizesIn(best.text),
      stack: stackAround(facts.output, best.line),
    },
    sentence: established
      ? `the command failed and printed "${best.text.slice(0, 200)}"`
      : `the command printed "${best.text.slice(0, 200)}", yet it ended with status 0`,
  };
}

/**
 * Whether a run ran out of memory, from all that speaks for it; null when nothing does.
 *
 * - The probe's record is certain, whatever became of the command: a swallowed error is an error.
 * - The kernel's kill is certain when its log names a process of the run, or when the full memory group holds the run alone. In a
 *   group (or on a machine) shared with others it needs a command that failed; SIGKILL without it is nobody's proof.
 * - Output is believed when the command failed: a runtime's own report anywhere, bare words near the end. With status 0 a
 *   report alone is `suspected`, which warns and does not fail: a program may print what it likes.
 *
 * The strongest witness gives the facts; the others stand as evidence beside it, and fill in the sizes and the stack it does
 * not know.
 */
export function outOfMemory(facts: OomFacts): OutOfMemory | null {
  const ending = endingOf(facts.exit);
  if (facts.exit.kind === "not-started") return null;
  const witnesses = [byProbe(facts, ending), byKernel(facts, ending), byOutput(facts, ending)].filter(
    (witness) => witness !== null,
  );
  const main = witnesses.find(({ told }) => told.certainty === "established") ?? witnesses[0];
  if (main === undefined) return null;
  const told = witnesses
    .filter((other) => other !== main)
    .reduce((best, other) => completed(best, other.told), main.told);
  return {
    ...told,
    swallowed: ending === "ok",
    errors: Math.max(1, facts.probe.length, facts.kernel.victims.length),
    evidence: witnesses.map(({ sentence }) => sentence),
  };
}

/** What another witness of the same failure knows beyond the first; a kill by the kernel is no failed request. */
function completed(first: Told, other: Told): Told {
  if (first.source === "kernel" || other.source === "kernel") return first;
  const requested = first.requested_bytes === null;
  return {
    ...first,
    ...(requested ? { requested_bytes: other.requested_bytes } : {}),
    device: first.device ?? other.device,
    message: first.message ?? other.message,
    stack: first.stack.length > 0 ? first.stack : other.stack,
  };
}
