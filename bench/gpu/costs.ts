import { type Evidence, type JsonObject, results } from "./evidence.ts";
import { type Machine, program, python } from "./machine.ts";
import { Helper } from "./processes.ts";
import { median, type RatioInterval, ratioInterval } from "./statistics.ts";
import { stepSet, type Workload } from "./step-ratio.ts";
import type { Task } from "./tasks.ts";

/** What the gate's default rates may cost a step. */
const LIMIT_STEP_RATIO = 1.005;

/**
 * Polling while memory is allocated and freed as fast as the driver can: none, at the gate's maximum rates, and at the
 * rate of monitors.
 */
const POLLS = [
  { name: "none", ask: null },
  { name: "memory_50hz", ask: "memory 50" },
  { name: "lists_1hz", ask: "list 1" },
  { name: "lists_40hz", ask: "list 40" },
] as const;

interface Sizes {
  readonly callS: number;
  readonly calls: number;
  readonly stormRounds: number;
  readonly stormS: number;
  readonly sets: number;
  readonly rounds: number;
  readonly segmentS: number;
  readonly warmS: number;
}

const FULL: Sizes = {
  callS: 2,
  calls: 20_000,
  stormRounds: 10,
  stormS: 1,
  sets: 4,
  rounds: 12,
  segmentS: 0.35,
  warmS: 2.5,
};
const SMALL: Sizes = {
  callS: 0.1,
  calls: 500,
  stormRounds: 2,
  stormS: 0.15,
  sets: 1,
  rounds: 2,
  segmentS: 0.1,
  warmS: 0.1,
};

export function costTasks(machine: Machine): Task[] {
  const size = machine.fake ? SMALL : FULL;
  const functions = () => python(machine, "nvml_costs.py", [String(size.callS), String(size.calls)], { timeoutS: 90 });
  const tasks: Task[] = [
    { name: "nvml/alone", seconds: 30, run: functions },
    { name: "nvml/during-allocations", seconds: 35, run: () => whileAllocating(machine, functions) },
    { name: "allocations/polled", seconds: 60, run: () => polledStorm(machine, size) },
  ];
  const stepTask = (workload: Workload, set: number): Task => ({
    name: `steps/${workload}/${set}`,
    seconds: machine.fake ? 10 : 60,
    run: () => stepSet(machine, { workload, ...size }),
  });
  const sets = Array.from({ length: size.sets }, (_, i) => i + 1);
  if (machine.fake) return [...tasks, ...sets.map((set) => stepTask("stand-in", set))];
  // Those with a limit first.
  const limited = sets.flatMap((set) => [stepTask("small", set), stepTask("large", set)]);
  return [...tasks, ...limited, ...sets.map((set) => stepTask("churn", set))];
}

function storm(machine: Machine): Helper {
  return new Helper(machine.python, [program("storm.py"), machine.fake ? "host" : "cuda"], machine.env);
}

async function whileAllocating(machine: Machine, functions: () => Promise<JsonObject>): Promise<JsonObject> {
  const allocations = storm(machine);
  try {
    await allocations.answer();
    // Endless: it is killed when the functions have been measured.
    void allocations.ask("0").catch(() => {});
    return await functions();
  } finally {
    allocations.end();
  }
}

async function polledStorm(machine: Machine, { stormRounds, stormS }: Sizes): Promise<JsonObject> {
  const allocations = storm(machine);
  const poller = new Helper(machine.python, [program("poll.py")], machine.env);
  const taken = new Map<string, { us: number; p99: number; calls: number; busy: number }[]>();
  try {
    await Promise.all([allocations.answer(), poller.answer()]);
    await allocations.ask(String(stormS));
    for (let round = 0; round < stormRounds; round++) {
      for (let i = 0; i < POLLS.length; i++) {
        const { name, ask } = POLLS[(i + round) % POLLS.length]!;
        const polling = ask === null ? null : poller.ask(`${ask} ${stormS}`);
        const pair = (await allocations.ask(String(stormS))) as { pairs: number; seconds: number; p99_us: number };
        const polled = ((await polling) ?? { calls: 0, busy_s: 0 }) as { calls: number; busy_s: number };
        const one = {
          us: (pair.seconds / pair.pairs) * 1e6,
          p99: pair.p99_us,
          calls: polled.calls,
          busy: polled.busy_s,
        };
        taken.set(name, [...(taken.get(name) ?? []), one]);
      }
    }
  } finally {
    allocations.end();
    poller.end();
  }
  const none = taken.get("none")!;
  return {
    kind: machine.fake ? "stand-in on the host" : "cuMemAlloc and cuMemFree",
    rounds: stormRounds,
    seconds_each: stormS,
    polls: Object.fromEntries(
      [...taken].map(([name, ones]) => [
        name,
        {
          us_per_pair: median(ones.map(({ us }) => us)),
          p99_us: median(ones.map(({ p99 }) => p99)),
          calls: median(ones.map(({ calls }) => calls)),
          /** Share of the time that the poller spent inside NVML. */
          inside_nvml: median(ones.map(({ busy }) => busy / stormS)),
          ratio: ratioInterval(ones.map(({ us }, i) => us / none[i]!.us)),
        },
      ]),
    ),
  } as unknown as JsonObject;
}

/**
 * The ratios of a workload's sets as one interval for each arm; a set, with processes of its own, is one observation.
 */
export function costSummary(evidence: Evidence): JsonObject {
  const by = new Map<string, Record<string, number>[]>();
  for (const { result } of results(evidence, "steps/")) {
    const workload = String(result.workload);
    by.set(workload, [...(by.get(workload) ?? []), result.ratios as Record<string, number>]);
  }
  const steps: Record<string, Record<string, RatioInterval>> = {};
  for (const [workload, sets] of by) {
    const arms = Object.keys(sets[0]!);
    steps[workload] = Object.fromEntries(arms.map((arm) => [arm, ratioInterval(sets.map((one) => one[arm]!))]));
  }
  const found = Object.entries(steps).flatMap(([workload, arms]) => (workload === "churn" ? [] : [arms.gate!]));
  return { limit_step_ratio: LIMIT_STEP_RATIO, within_limit: withinLimit(found), steps } as unknown as JsonObject;
}

/** Null where an interval is unknown or has the limit inside. */
function withinLimit(found: readonly RatioInterval[]): boolean | null {
  if (found.some(({ low }) => low !== null && low > LIMIT_STEP_RATIO)) return false;
  return found.length > 0 && found.every(({ high }) => high !== null && high <= LIMIT_STEP_RATIO) ? true : null;
}
