import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { findPrebuild } from "../../src/sampler/prebuild.ts";
import { allPids, readStat } from "../../src/sampler/proc.ts";
import { prng } from "../../src/stats/testing/prng.ts";
import { livingWith, type Measured, measured, uniqueWord } from "./kit.ts";

/** Each takes about a second; `npm run soak` kills more often. */
const KILLS = Number(process.env.STORMLOG_TEST_KILLS ?? "2");
const KILLS_LIMIT = { timeout: KILLS * 10_000 + 10_000 };
/** A failure is repeated with the same seed. */
const random = prng(Number(process.env.STORMLOG_TEST_SEED ?? "1")).uniform;
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
  it(
    `leaves no daemon with an empty environment in a session of its own, ${KILLS} times at random times`,
    async () => {
      for (let i = 0; i < KILLS; i++) {
        const word = uniqueWord();
        const { info } = await killLauncher(word, random() * 0.3);
        expect(livingWith(word)).toEqual([]);
        expect(info.lost.join("\n")).toContain("the launcher ended before the command");
      }
    },
    KILLS_LIMIT.timeout,
  );

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

describe.skipIf(!native)("a command that is killed", () => {
  it("leaves no daemon, and its recording is whole", KILLS_LIMIT, async () => {
    for (let i = 0; i < KILLS; i++) {
      const word = uniqueWord();
      const kill = `sleep ${(random() * 0.3).toFixed(3)}; kill -9 $$`;
      const { info, directory } = await measured(["sh", "-c", `${DAEMONS}\n${kill}`, word], { probe: "off" });
      expect(livingWith(word)).toEqual([]);
      expect(info.exit).toEqual({ kind: "signaled", signal: "SIGKILL" });
      expect(JSON.parse(readFileSync(`${directory}/recording.json`, "utf8")).complete).toBe(true);
    }
  });
});

/** Ended children of this process that were not reaped. */
function zombies(): readonly number[] {
  return allPids().filter((pid) => {
    const stat = readStat(pid);
    return stat?.parent === process.pid && stat.state === "Z";
  });
}
