import type { Measurements } from "../analysis/measurements.ts";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import type { Command } from "../core/process/command.ts";
import { formatBytes, KIB } from "../core/units.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import { policyOf } from "../gate/scenario/scenario-report.ts";
import type { Metric } from "../telemetry/recording/metrics.ts";
import { judge } from "../verdict/judge.ts";
import type { Aspect, Check } from "../verdict/model/judgement.ts";
import type { Policy } from "../verdict/model/policy.ts";
import { judgeKnownChange, type KnownChangeVerdict } from "./canary.ts";
import type { Trial } from "./state.ts";

/** Memory allocated next to a command while it runs, bytes. */
interface Injection {
  /** All of it from the start (a higher peak), or in equal pieces, one after another (growth). */
  readonly shape: "peak" | "growth";
  readonly bytes: number;
  /** Time in which a growth adds `bytes`, and at whose pace it goes on; unused for a peak. */
  readonly seconds: number;
}

/** Pieces of a growth: enough for a slope, and few enough that their processes do not matter for the size. */
const PIECES = 16;

/** Anonymous memory of the process of one piece, bytes: measured with the coreutils of Debian 12. */
const HOLDER_BYTES = 112 * KIB;

/** Smallest piece that is larger than its process. */
const MIN_PIECE_BYTES = 256 * KIB;

/**
 * The script around the command. A piece of memory is the buffer of a `dd` that has filled it and cannot write it: its
 * pipe is open and hardly read. The shell has the only reading end, so that every `dd` ends with the shell. A peak is
 * held before the command starts, which the first byte in the pipe shows: a short command would else end before it.
 * Neither the environment nor the open files of the command change.
 */
const SCRIPT = `chunk=$1; count=$2; pause=$3; shift 3
dir=$(mktemp -d) || exit 125
mkfifo "$dir/pipe" || exit 125
exec 9<>"$dir/pipe"
(
  exec 9<&-
  i=0
  while [ "$i" -lt "$count" ] && [ -p "$dir/pipe" ]; do
    dd if=/dev/zero of="$dir/pipe" bs="$chunk" count=1 2>/dev/null &
    i=$((i + 1))
    [ "$i" -lt "$count" ] && sleep "$pause"
  done
) >/dev/null 2>&1 &
feeder=$!
[ "$count" -eq 1 ] && timeout 10 dd bs=1 count=1 <&9 >/dev/null 2>&1
"$@" 9<&-
status=$?
rm -r "$dir"
kill "$feeder" 2>/dev/null
exit "$status"
`;

function pieces(injection: Injection): { readonly chunk: number; readonly count: number; readonly pauseS: number } {
  const most = Math.max(1, Math.floor(injection.bytes / MIN_PIECE_BYTES));
  const count = injection.shape === "peak" ? 1 : Math.min(PIECES, most);
  const chunk = Math.max(4 * KIB, Math.round(injection.bytes / count) - HOLDER_BYTES);
  if (count === 1) return { chunk, count, pauseS: 0 };
  // On a busy machine a run takes longer, and growth that ends in its first half is warm-up.
  return { chunk, count: 4 * count, pauseS: injection.seconds / count };
}

/** The command with memory allocated next to it in counted processes. Needs a POSIX shell, `mkfifo` and `dd`. */
function withInjection(command: Command, injection: Injection): Command {
  const { chunk, count, pauseS } = pieces(injection);
  const inner = command.kind === "argv" ? command.argv : ["sh", "-c", command.script];
  return {
    kind: "argv",
    argv: ["sh", "-c", SCRIPT, "stormlog-injection", String(chunk), String(count), pauseS.toFixed(3), ...inner],
  };
}

/** Injected size in detectable minima, of which 9 in 10 are detected: with 1.5 a miss shows a fault of the gate. */
const INJECTED_MINIMA = 1.5;

/** Share of a run in which growth counts at least: the warm-up, which does not, ends in its first half. */
const JUDGED_SHARE = { peak: 1, growth: 0.5 } as const;

export interface SelfTest {
  readonly trials: readonly Trial[];
  /** What was not tested, and why. */
  readonly notes: readonly string[];
}

export interface SelfTestInput {
  /** The baseline of the next session. */
  readonly baseline: Measurements;
  readonly session: string;
  readonly commit: string | null;
}

/** Memory next to a command is host memory, so an injection shows there. */
const INJECTED_METRIC: Metric = "host";

function hostCheck(checks: readonly Check[], aspect: Aspect): Check | undefined {
  return checks
    .filter((check) => check.metric === INJECTED_METRIC && check.limit === "baseline" && check.aspect === aspect)
    .sort((a, b) => (b.mde_bytes ?? 0) - (a.mde_bytes ?? 0))[0];
}

/** Whether the gate detected the injection: a failed check of the aspect that it changes. */
function found(verdict: KnownChangeVerdict, shape: Injection["shape"]): boolean {
  const aspects: readonly Aspect[] = shape === "peak" ? ["peak"] : ["growth", "class"];
  return verdict.judgement.checks.some(
    (check) =>
      check.verdict === "fail" &&
      check.gating &&
      check.metric === INJECTED_METRIC &&
      check.limit === "baseline" &&
      aspects.includes(check.aspect),
  );
}

/**
 * Test the gate with known verdicts: the unchanged program passes, and the same program with the smallest regression
 * that the gate claims to detect fails, in peak and in growth. Procedure and policy are those of the gate, except that
 * an injection is judged on host memory: nothing outside a program can allocate from its device allocator.
 */
export async function selfTest(
  request: GateRequest,
  scenario: ScenarioRequest,
  input: SelfTestInput,
  ports: GatePorts,
): Promise<SelfTest> {
  const name = scenario.name.replace(/[\r\n]+/g, " ");
  const policy: Policy = { ...policyOf(request, scenario), budgets: [] };
  const trials: Trial[] = [];
  const notes: string[] = [];
  const { baseline, session, commit } = input;
  if (baseline.runs.length < policy.minBaselineRuns) {
    notes.push(`${name}: no self-test, its baseline has ${baseline.runs.length} of ${policy.minBaselineRuns} runs`);
    return { trials, notes };
  }
  const known = { baseCommand: scenario.command, baseline, commit };
  const trial = (kind: Trial["kind"], failed: boolean, bytes: number, metric: string, runs: number) => {
    const time = `${ports.now().toISOString().slice(0, 19)}Z`;
    trials.push({ time, scenario: scenario.name, kind, failed, injected_bytes: bytes, metric, runs });
  };

  ports.log(`${name}: self-test, the unchanged program`);
  const canary = await judgeKnownChange(
    request,
    scenario,
    { ...known, command: scenario.command, policy, session: `${session}-canary` },
    ports,
  );
  if (canary.kind === "none") {
    notes.push(`${name}: no self-test, the unchanged program was not judged: ${canary.reason}`);
    return { trials, notes };
  }
  const { verdict, checks: judged } = canary.verdict.judgement;
  trial("canary", verdict === "fail", 0, gatingMetric(judged), canary.verdict.runs);

  const onHost: Policy = { ...policy, gatingMetrics: [INJECTED_METRIC] };
  const { checks } = judge({
    candidate: canary.verdict.candidate,
    baseline,
    anchor: null,
    policy: onHost,
    baseRunsPossible: false,
    moreRunsPossible: false,
  });
  for (const shape of ["peak", "growth"] as const) {
    if (ports.interrupt.aborted) break;
    const minimum = hostCheck(checks, shape)?.mde_bytes ?? null;
    if (minimum === null) {
      notes.push(`${name}: no injected ${shape}, the detectable minimum of these runs is unknown`);
      continue;
    }
    const bytes = Math.ceil((minimum * INJECTED_MINIMA) / JUDGED_SHARE[shape]);
    ports.log(`${name}: self-test, ${shape === "peak" ? "a peak" : "growth"} of ${formatBytes(bytes)} held beside it`);
    const injection: Injection = { shape, bytes, seconds: canary.verdict.durationS * 0.9 };
    const answer = await judgeKnownChange(
      request,
      scenario,
      {
        ...known,
        command: withInjection(scenario.command, injection),
        policy: onHost,
        session: `${session}-${shape}`,
      },
      ports,
    );
    if (answer.kind === "none") {
      notes.push(`${name}: the injected ${shape} was not judged: ${answer.reason}`);
      continue;
    }
    trial(shape, found(answer.verdict, shape), bytes, INJECTED_METRIC, answer.verdict.runs);
  }
  return { trials, notes };
}

function gatingMetric(checks: readonly Check[]): string {
  return [...new Set(checks.filter(({ gating }) => gating).map(({ metric }) => metric))].sort().join(", ") || "none";
}
