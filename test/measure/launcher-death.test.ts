import { describe, expect, it } from "vitest";
import { findPrebuild } from "../../src/sampler/prebuild.ts";
import { allPids, readStat } from "../../src/sampler/proc.ts";
import { ALL_WAYS, draws, KILLS, KILLS_LIMIT, killInRuns, tries } from "./kills.ts";
import { livingWith, type Measured, measured, uniqueWord } from "./kit.ts";

const native = !("reason" in findPrebuild());

const LOOP = `trap "" INT TERM HUP; while :; do sleep 60; done`;
/** In a session of its own with an empty environment, as child and as orphan; the last one has children as well. */
const DAEMONS = [
  `env -i setsid sh -c '${LOOP}' "$0" &`,
  `( env -i setsid sh -c '${LOOP}' "$0" & )`,
  `( env -i setsid sh -c 'setsid sh -c "while :; do sleep 60; done" "$0" & ${LOOP}' "$0" & )`,
].join("\n");
/** Never the same process for longer than a fork takes, each in a new session. */
const HOPPER = `use POSIX; for (1 .. 1e6) { exit if fork; POSIX::setsid() }`;

const killLauncher = (word: string, afterS: number, more = ""): Promise<Measured> =>
  measured(["sh", "-c", `${DAEMONS}\n${more}\nsleep ${afterS.toFixed(3)}; kill -9 $PPID; ${LOOP}`, word], {
    probe: "off",
  });

describe.skipIf(!native)("a launcher that is killed", () => {
  it("leaves no process that forks into a new session again and again", async () => {
    const word = uniqueWord();
    await killLauncher(word, 0.2, `( env -i setsid perl -e '${HOPPER}' "$0" & )`);
    expect(livingWith(word)).toEqual([]);
  });

  it("leaves no ended process behind as a child of the gate", async () => {
    const before = zombies();
    await killLauncher(uniqueWord(), 0.1);
    expect(zombies().filter((pid) => !before.includes(pid))).toEqual([]);
  });

  it("a launcher that is stopped whenever the gate is stopped as well is not killed", async () => {
    // What a suspended job leaves to see: the gate is continued, again and again, and finds its launcher stopped.
    const script = `kill -STOP $PPID; for i in 1 2 3 4 5 6 7 8; do kill -CONT "$0"; sleep 0.2; done; kill -CONT $PPID; exit 3`;
    const { info } = await measured(["sh", "-c", script, String(process.pid)], { probe: "off" });
    expect(info.exit).toEqual({ kind: "exited", code: 3 });
  });

  it("a launcher that the command stops is killed, and the run ends with its tree", async () => {
    const word = uniqueWord();
    const script = `${DAEMONS}\nkill -STOP $PPID; ${LOOP}`;
    const { info } = await measured(["sh", "-c", script, word], { probe: "off" });
    expect(livingWith(word)).toEqual([]);
    expect(info.exit).toEqual({ kind: "running" });
  });

  it("a launcher that the command stops before it ends is killed", async () => {
    const word = uniqueWord();
    const { info } = await measured(["sh", "-c", `${DAEMONS}\nkill -STOP $PPID; exit 0`, word], { probe: "off" });
    expect(livingWith(word)).toEqual([]);
    expect(info.exit).toEqual({ kind: "running" });
  });
});

/** Runs of one gate: one for each would take its start. */
const RUNS = 13;

describe.skipIf(!native)("a process of a run that is killed", () => {
  const cases = ALL_WAYS.flatMap((way) =>
    (["launcher", "init", "command"] as const)
      .filter((victim) => way.got !== "off" || victim !== "init")
      .map((victim) => ({ ...way, victim })),
  );
  it.each(cases)(
    `a $victim with isolation $got that is killed at a random time leaves no process, and its recording is whole, ${KILLS} times`,
    KILLS_LIMIT,
    async ({ victim, ...way }) => {
      const numbers = draws(KILLS);
      const wrong = await tries(Math.ceil(KILLS / RUNS), (index) =>
        killInRuns(way, victim, numbers.slice(index * RUNS, (index + 1) * RUNS)),
      );
      expect(wrong).toEqual([]);
    },
  );
});

/** Ended children of this process that were not reaped. */
function zombies(): readonly number[] {
  return allPids().filter((pid) => {
    const stat = readStat(pid);
    return stat?.parent === process.pid && stat.state === "Z";
  });
}
