import { groupBy } from "../../core/group-by.ts";
import { MIB } from "../../core/units.ts";
import type { ProcessRecord } from "../recording/process-history.ts";
import type { RecordFile } from "../recording/record-columns.ts";
import type { RecordedRoles } from "../recording/recording-schema.ts";

/** Times at which what a role holds is recorded. */
const BINS = 32;
/** The largest are recorded. */
const MAX_ROLES = 12;
/** Smaller ones, as a shell that waits, are not recorded. */
const MIN_BYTES = MIB;
/** A process that lives shorter than this share of the run is judged with the others of its kind. */
export const LASTING = 0.5;

interface Named {
  readonly process: ProcessRecord;
  readonly program: string;
  /** Of the same program as its parent: a fork, or a worker. */
  readonly isWorker: boolean;
  /** Number of those of the same program below the same kind of parent. */
  readonly family: number;
}

interface Role {
  readonly role: string;
  readonly program: string;
  readonly processes: readonly ProcessRecord[];
}

/** Every process with its program, that of its parent where it has none of its own. */
function named(processes: readonly ProcessRecord[], nameOf: (pid: number) => string | undefined): readonly Named[] {
  const known = new Map<number, Named>();
  const families = new Map<string, number>();
  return processes.map((process) => {
    const parent = known.get(process.parent);
    const program = nameOf(process.pid) || parent?.program || "";
    const isWorker = parent !== undefined && parent.program === program;
    const key = `${isWorker} ${parent?.family ?? ""} ${program}`;
    const family = families.get(key) ?? families.size;
    families.set(key, family);
    const one = { process, program, isWorker, family };
    known.set(process.pid, one);
    return one;
  });
}

/** Processes in rows: one that starts after another has ended takes its place, as a restarted worker does. */
function places(family: readonly Named[]): readonly (readonly ProcessRecord[])[] {
  const rows: ProcessRecord[][] = [];
  for (const { process } of family) {
    const free = rows.find((row) => (row.at(-1)?.exitNs ?? Number.POSITIVE_INFINITY) <= process.startNs);
    if (free === undefined) rows.push([process]);
    else free.push(process);
  }
  return rows;
}

function rolesOf(family: readonly Named[], hasWorkers: boolean, lasting: boolean): readonly Role[] {
  const { program, isWorker } = family[0]!;
  const processes = family.map(({ process }) => process);
  const name = program === "" ? "a process" : program;
  if (!lasting && processes.length > 1) {
    return [{ role: isWorker ? `the short-lived workers of ${name}` : `${name}, started often`, program, processes }];
  }
  const rows = places(family);
  return rows.map((row, i) => {
    const number = `${i + 1} of ${rows.length}`;
    const role = isWorker
      ? rows.length === 1
        ? `the child process of ${name}`
        : `worker ${number} of ${name}`
      : rows.length > 1
        ? `${name} ${number}`
        : hasWorkers
          ? `the main process of ${name}`
          : name;
    return { role, program, processes: row };
  });
}

/** Least and most of the processes in each bin, each for its part of the bin; one without a reading has that before. */
function added(processes: readonly ProcessRecord[], beginNs: number, binNs: number) {
  const least = new Array<number>(BINS).fill(0);
  const most = new Array<number>(BINS).fill(0);
  for (const { held, startNs, exitNs } of processes) {
    const [from, to] = [startNs - beginNs, (exitNs ?? beginNs + BINS * binNs) - beginNs].map((ns) => ns / binNs);
    let at = 0;
    for (let bin = Math.max(0, Math.floor(from!)); bin < Math.min(BINS, to!); bin++) {
      const until = beginNs + (bin + 1) * binNs;
      const part = Math.min(bin + 1, to!) - Math.max(bin, from!);
      let [low, high] = [Number.POSITIVE_INFINITY, 0];
      for (; at < held.timesNs.length && held.timesNs[at]! < until; at++) {
        low = Math.min(low, held.least[at]!);
        high = Math.max(high, held.most[at]!);
      }
      least[bin]! += part * (Number.isFinite(low) ? low : (held.least[at - 1] ?? 0));
      most[bin]! += part * (Number.isFinite(low) ? high : (held.most[at - 1] ?? 0));
    }
  }
  return { least, most };
}

/**
 * What each role of a command's processes holds over the run; null where nothing was read. A role
 * survives restarts: "worker 2 of 4 of gunicorn" is the process that has that place.
 */
export function processRoles(
  { processes, lastNs }: Pick<RecordFile, "processes" | "lastNs">,
  nameOf: (pid: number) => string | undefined,
): RecordedRoles | null {
  const read = processes.all.filter(({ held }) => held.timesNs.length > 0);
  const beginNs = read[0]?.startNs ?? lastNs;
  const durationNs = lastNs - beginNs;
  const isLasting = ({ startNs, exitNs }: ProcessRecord) => (exitNs ?? lastNs) - startNs >= LASTING * durationNs;
  // Passing helpers would take places among the workers.
  const all = read.filter((one) => isLasting(one) || one.held.most.some((bytes) => bytes >= MIN_BYTES));
  if (!(durationNs > 0)) return null;
  const families = [...groupBy(named(all, nameOf), ({ family }) => family).values()];
  const parents = new Set(families.flat().flatMap(({ process, isWorker }) => (isWorker ? [process.parent] : [])));
  const roles = families.flatMap((family) => {
    const hasWorkers = family.some(({ process }) => parents.has(process.pid));
    return rolesOf(
      family,
      hasWorkers,
      family.some(({ process }) => isLasting(process)),
    );
  });
  const recorded = roles.map(({ role, program, processes: own }) => {
    const { least, most } = added(own, beginNs, durationNs / BINS);
    const peak = own.reduce((high, { held }) => Math.max(high, ...held.most), Math.max(...most));
    const only = own.length === 1 ? own[0] : undefined;
    const sizes = { peak_bytes: Math.round(peak), bytes: least.map(Math.round) };
    return { role, program, pids: own.length, ...(only === undefined ? {} : { pid: only.pid }), ...sizes };
  });
  const known = recorded.filter(({ peak_bytes }) => peak_bytes >= MIN_BYTES);
  const largest = known.sort((a, b) => b.peak_bytes - a.peak_bytes).slice(0, MAX_ROLES);
  return { begin_ns: beginNs, bin_ns: durationNs / BINS, roles: largest };
}
