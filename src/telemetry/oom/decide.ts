import { formatBytes } from "../../core/units.ts";
import type { ExitState } from "../recording/model.ts";
import { NO_SIZES, type OutOfMemory } from "../recording/out-of-memory.ts";
import type { ProbeOom } from "../recording/probe-record.ts";
import { type KernelFacts, secondsText } from "./kernel.ts";
import type { OutputMessage } from "./messages.ts";
import { inOrder, probeWitness } from "./probe-files.ts";
import { deviceIn, sizesIn } from "./sizes.ts";
import { stackAround } from "./stack.ts";

/** All evidence that a run ran out of memory. */
export interface OomFacts {
  readonly exit: ExitState;
  /** CLOCK_MONOTONIC of time zero. */
  readonly startNs: bigint;
  readonly probe: readonly ProbeOom[];
  readonly kernel: KernelFacts;
  /** The kept output of the command. */
  readonly output: string;
  readonly messages: readonly OutputMessage[];
  /** What the run's memory group held where its record ends, and two seconds before; absent where its end was seen. */
  readonly level?: { readonly bytes: number; readonly beforeBytes: number; readonly limitBytes: number } | undefined;
}

/**
 * Maximum distance from the output's end, in characters, of a message that explains a failure. A runtime's report has
 * no such limit, because other ranks may print much after it.
 */
const WORDS_FROM_END = 8192;

/** Confidence of each kind of evidence. The order matters more than the numbers. */
const CONFIDENCE = {
  probe: 1,
  /** The kernel's log names a process of the job, or the full group contains only the job. */
  kernelCertain: 1,
  /** A counter of a shared group or machine rose, and the command was killed. */
  kernelKilled: 0.95,
  /** Only the whole machine's counter rose, and the command was killed. */
  machineKilled: 0.8,
  /** A shared group's counter rose, and the command failed in another way (a launcher that lost its worker). */
  kernelFailed: 0.85,
  report: 0.95,
  words: 0.75,
  suspected: 0.5,
} as const;

/** Kind of an exit: killed (SIGKILL itself, or a shell's 128 + 9), failed, normal, or not seen. */
type Ending = "killed" | "failed" | "ok" | "unseen";

function endingOf(exit: ExitState): Ending {
  if (exit.kind === "running") return "unseen";
  if (exit.kind === "exited") return exit.code === 0 ? "ok" : exit.code === 137 ? "killed" : "failed";
  return exit.kind === "signaled" && exit.signal === "SIGKILL" ? "killed" : "failed";
}

type OomFinding = Omit<OutOfMemory, "errors" | "evidence" | "swallowed">;

const UNKNOWN: Omit<OomFinding, "certainty" | "confidence" | "source" | "runtime"> = {
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

function byProbe(facts: OomFacts, ending: Ending): { readonly finding: OomFinding; readonly sentence: string } | null {
  const first = inOrder(facts.probe)[0];
  if (first === undefined) return null;
  const witness = probeWitness(first, facts.startNs);
  const at = witness.time_ns === null ? "" : ` ${secondsText(witness.time_ns)} after the start`;
  const ended = ending === "ok" ? ", and the command continued" : "";
  return {
    finding: { ...UNKNOWN, certainty: "established", confidence: CONFIDENCE.probe, source: "probe", ...witness },
    sentence: `the probe recorded ${first.exception ?? "an out-of-memory error"} in process ${first.pid ?? "?"}${at}${ended}`,
  };
}

function byKernel(facts: OomFacts, ending: Ending): { readonly finding: OomFinding; readonly sentence: string } | null {
  const { group, machineKills, victims } = facts.kernel;
  const victim = victims[0];
  const finding = (certainty: OomFinding["certainty"], confidence: number): OomFinding => ({
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
      finding: finding("established", CONFIDENCE.kernelCertain),
      sentence: `the kernel's log contains an out-of-memory kill of process ${victim.pid} (${victim.name}) of this run`,
    };
  }
  if (group !== null) {
    const kills = `the kernel killed ${group.kills === 1 ? "a process" : `${group.kills} processes`} of the run's memory group`;
    if (group.dedicated) return { finding: finding("established", CONFIDENCE.kernelCertain), sentence: kills };
    const shared = `${kills}, which may contain other processes`;
    if (ending === "ok") return { finding: finding("suspected", CONFIDENCE.suspected), sentence: shared };
    const confidence = ending === "killed" ? CONFIDENCE.kernelKilled : CONFIDENCE.kernelFailed;
    return { finding: finding("established", confidence), sentence: shared };
  }
  if (machineKills === null || machineKills === 0 || ending === "ok") return null;
  const sentence = `the kernel of this machine killed ${machineKills === 1 ? "a process" : `${machineKills} processes`} because of low memory during the run`;
  return ending === "killed"
    ? { finding: finding("established", CONFIDENCE.machineKilled), sentence }
    : { finding: finding("suspected", CONFIDENCE.suspected), sentence };
}

function byOutput(facts: OomFacts, ending: Ending): { readonly finding: OomFinding; readonly sentence: string } | null {
  const reports = facts.messages.filter(({ wording }) => wording === "report");
  const words = facts.messages.filter(({ fromEnd }) => fromEnd <= WORDS_FROM_END);
  // The last report is the one that ended the run. One with a size is preferred to the messages around it.
  const best =
    reports.findLast(({ text }) => sizesIn(text).requested_bytes !== null) ??
    reports.at(-1) ??
    (ending === "ok" || ending === "unseen" ? undefined : words.at(-1));
  if (best === undefined) return null;
  const established = ending === "failed" || ending === "killed";
  const worth = best.wording === "report" ? CONFIDENCE.report : CONFIDENCE.words;
  return {
    finding: {
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
      : `the command printed "${best.text.slice(0, 200)}", but ${ending === "ok" ? "ended with status 0" : "its end was not seen"}`,
  };
}

/** A machine whose memory is full may end gate and command at once, which then leave the level alone. */
function byLevel({ level }: OomFacts): { readonly finding: OomFinding; readonly sentence: string } | null {
  // An unknown level is not a number, and reaches nothing.
  if (level === undefined || !(2 * level.bytes - level.beforeBytes >= level.limitBytes)) return null;
  const { bytes, beforeBytes, limitBytes } = level;
  return {
    finding: {
      ...UNKNOWN,
      certainty: "suspected",
      confidence: CONFIDENCE.suspected,
      source: "kernel",
      runtime: "kernel",
      device: "host",
      allocated_bytes: bytes,
      total_bytes: limitBytes,
    },
    sentence: `the record ends with ${formatBytes(bytes)} of ${formatBytes(limitBytes)} in use, ${formatBytes(bytes - beforeBytes)} more than 2 s before`,
  };
}

/**
 * Whether a run ran out of memory, from all evidence; null without any.
 *
 * - The probe's record is certain, for any exit of the command: a swallowed error is an error.
 * - The kernel's kill is certain when its log names a process of the run, or when the full memory group contains only
 *   the run. In a shared group (or on a machine) it needs a command that failed. A SIGKILL without a kill by the kernel
 *   is not evidence.
 * - A level within two seconds of the limit is `suspected` where the gate was killed too.
 * - Output counts when the command failed: a runtime's report anywhere, a message without one near the end. With status
 *   0 a report alone is `suspected`, which warns and does not fail, because a program may print anything.
 *
 * The strongest witness provides the facts. The others are listed as evidence, and provide the sizes and the stack that
 * it lacks.
 */
export function outOfMemory(facts: OomFacts): OutOfMemory | null {
  const ending = endingOf(facts.exit);
  if (facts.exit.kind === "not-started") return null;
  const witnesses = [byProbe(facts, ending), byKernel(facts, ending), byOutput(facts, ending), byLevel(facts)].filter(
    (witness) => witness !== null,
  );
  const main = witnesses.find(({ finding }) => finding.certainty === "established") ?? witnesses[0];
  if (main === undefined) return null;
  const finding = witnesses
    .filter((other) => other !== main)
    .reduce((best, other) => completed(best, other.finding), main.finding);
  return {
    ...finding,
    swallowed: ending === "ok",
    errors: Math.max(1, facts.probe.length, facts.kernel.victims.length),
    evidence: witnesses.map(({ sentence }) => sentence),
  };
}

/** Facts of another witness of the same failure. A kill by the kernel is not a failed request. */
function completed(first: OomFinding, other: OomFinding): OomFinding {
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
