import { describe, expect, it } from "vitest";
import { ProcessHistory } from "../recording/process-history.ts";
import { processRoles } from "./process-roles.ts";

const MIB = 2 ** 20;
const S = 1e9;

interface Life {
  readonly pid: number;
  readonly parent: number;
  readonly from: number;
  readonly to?: number;
  /** MiB at a second of the run. */
  readonly mib: (second: number) => number;
}

/** Roles of processes that are read ten times a second. */
function rolesOf(lives: readonly Life[], names: Readonly<Record<number, string>>, seconds = 20) {
  const processes = new ProcessHistory();
  for (let tick = 0; tick < 10 * seconds; tick++) {
    const at = tick / 10;
    for (const { pid, parent, from, to = Number.POSITIVE_INFINITY, mib } of lives) {
      if (at === from) processes.start(pid, at * S, parent);
      if (at >= from && at < to) processes.reading(pid, at * S, [mib(at) * MIB, mib(at) * MIB, 0, 0]);
      if (at === to) processes.exit(pid, at * S, Number.NaN);
    }
  }
  return processRoles({ processes, lastNs: seconds * S }, (pid) => names[pid]);
}

const flat = (mib: number) => () => mib;

describe("the roles of a command's processes", () => {
  it("a single process has the role of its program", () => {
    const found = rolesOf([{ pid: 1, parent: 0, from: 0, mib: flat(50) }], { 1: "job.py" });
    expect(found?.roles).toMatchObject([{ role: "job.py", program: "job.py", pid: 1 }]);
  });

  it("what a child allocated before it was found is its own, and not its parent's", () => {
    const processes = new ProcessHistory();
    const read = (pid: number, at: number, mib: number) => processes.reading(pid, at * S, [mib * MIB, mib * MIB, 0, 0]);
    processes.start(1, 0, 0);
    for (let at = 0; at < 20; at += 0.1) {
      // Forked at 4.95 s with 5 MiB, and found at 5.1 s; both have allocated 16 MiB by 5 s.
      if (Math.abs(at - 5.1) < 0.01) processes.start(2, at * S, 1, 2, 4.95 * S);
      read(1, at, at < 4.99 ? 5 : 21);
      if (at > 5.05) read(2, at, 21);
    }
    const found = processRoles({ processes, lastNs: 20 * S }, () => "job.py");
    expect(found?.roles.map(({ role, peak_bytes }) => [role, peak_bytes / MIB])).toEqual([
      ["the main process of job.py", 21],
      ["the child process of job.py", 16],
    ]);
  });

  it("processes of other programs go by the program's name", () => {
    const found = rolesOf(
      [
        { pid: 1, parent: 0, from: 0, mib: flat(40) },
        { pid: 2, parent: 1, from: 1, mib: flat(8) },
      ],
      { 1: "server.py", 2: "wrk" },
    );
    expect(found?.roles.map(({ role, pids }) => [role, pids])).toEqual([
      ["server.py", 1],
      ["wrk", 1],
    ]);
  });

  it("a worker that is started again keeps its place among the others", () => {
    const found = rolesOf(
      [
        { pid: 1, parent: 0, from: 0, mib: flat(60) },
        { pid: 2, parent: 1, from: 0.5, mib: flat(10) },
        { pid: 3, parent: 1, from: 0.5, to: 14, mib: (at) => 5 + at },
        { pid: 4, parent: 1, from: 14.5, mib: flat(4) },
      ],
      { 1: "gunicorn", 2: "gunicorn", 3: "gunicorn", 4: "gunicorn" },
    );
    expect(found?.roles.map(({ role, pids }) => [role, pids])).toEqual([
      ["the main process of gunicorn", 1],
      ["worker 2 of 2 of gunicorn", 2],
      ["worker 1 of 2 of gunicorn", 1],
    ]);
    const [, second] = found!.roles;
    expect(second!.peak_bytes / MIB).toBeCloseTo(18.9, 1);
    expect(second!.bytes.at(-1)! / MIB).toBeCloseTo(4, 1);
  });

  it("workers that come and go are one role, which holds what they hold at a time", () => {
    const lives = Array.from({ length: 38 }, (_, i) => ({
      ...{ pid: 10 + i, parent: 1, from: 0.5 + i / 2, to: 1 + i / 2, mib: flat(24) },
    }));
    const found = rolesOf([{ pid: 1, parent: 0, from: 0, mib: flat(12) }, ...lives], { 1: "main.py" });
    const [main, workers] = found!.roles;
    expect([workers?.role, workers?.pids]).toEqual(["the short-lived workers of main.py", 38]);
    expect(main?.role).toBe("the main process of main.py");
    // 24 MiB less the 12 of the parent for the whole time, but for its first and last moments.
    for (const bytes of workers!.bytes.slice(2, -2)) expect(bytes / MIB).toBeCloseTo(12, 0);
  });

  it("processes that each start two more, of which one goes on, are read in time proportional to their number", () => {
    const processes = new ProcessHistory();
    for (let pid = 1; pid <= 40_000; pid++) {
      processes.start(pid, pid * 1e6, pid - 1 - (pid % 2));
      processes.reading(pid, pid * 1e6, [2 * MIB, 2 * MIB, 0, 0]);
      processes.exit(pid, pid * 1e6 + 2e6, Number.NaN);
    }
    const found = processRoles({ processes, lastNs: 40_001e6 }, (pid) => ((pid >> 1) % 2 === 0 ? "a" : "b"));
    expect(found?.roles.length).toBeLessThanOrEqual(12);
  });

  it("a fork's copy of its parent is not what it holds", () => {
    const found = rolesOf(
      [
        { pid: 1, parent: 0, from: 0, mib: flat(100) },
        { pid: 2, parent: 1, from: 2, mib: (at) => 100 + at },
      ],
      { 1: "main.py" },
    );
    expect(found?.roles[1]).toMatchObject({ role: "the child process of main.py" });
    expect(found!.roles[1]!.peak_bytes / MIB).toBeCloseTo(20, 0);
  });
});
