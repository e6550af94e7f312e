import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { canBeHostile, HostileStep } from "../action/testing/hostile-step.ts";
import { uniqueWord } from "../measure/kit.ts";

/** Living processes with a word in their command line. */
function living(word: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "latin1");
      return /^\d+$/.test(pid) && Number(pid) !== process.pid && line.includes(word);
    } catch {
      return false;
    }
  });
}

describe.skipIf(!canBeHostile)("a change that leaves processes behind", () => {
  let directory: string;
  let step: HostileStep;
  const word = uniqueWord();

  beforeAll(async () => {
    directory = mkdtempSync(path.join(tmpdir(), "stormlog-left-"));
    chmodSync(directory, 0o755);
    // The files of the step are in a directory that only this test's daemons write to.
    vi.stubEnv("TMPDIR", directory);
    step = await HostileStep.start();
  }, 120_000);
  afterEach(() => {
    expect([...step.loot().keys()]).toEqual(["ran"]);
    expect(living(word)).toEqual([]);
  });
  afterAll(async () => {
    await step.stop();
    vi.unstubAllEnvs();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Forked twice, in a session of its own, with an empty environment; writes a pass until it is killed. */
  const daemon = (then: string): string => {
    const forge = `for f in ${directory}/stormlog-runner-*/GITHUB_OUTPUT; do printf 'verdict=pass\\nexit-code=0\\n' >>$f; done`;
    const loop = `trap '' INT TERM HUP; while :; do : >${step.paths.loot}/ran; ${forge}; sleep 0.02; done`;
    const start = `(env -i setsid sh -c "$0" ${word} &)`;
    return `import { existsSync } from "node:fs";
import { spawnSync } from "node:child_process";
export const before = async ({ loot }) => {
  spawnSync("sh", ["-c", ${JSON.stringify(start)}, ${JSON.stringify(loop)}], { stdio: "ignore" });
  while (!existsSync(loot + "/ran")) await new Promise((resolve) => setTimeout(resolve, 10));
  ${then}
};`;
  };
  const STAY = "await new Promise(() => setInterval(() => {}, 1000));";

  it.each([
    ["kills the launcher", `process.kill(process.ppid, "SIGKILL"); ${STAY}`],
    ["stops the launcher", `process.kill(process.ppid, "SIGSTOP"); ${STAY}`],
    ["stops the launcher and ends", `process.kill(process.ppid, "SIGSTOP"); process.exit(0);`],
  ])("a command that %s while a daemon forges outputs is an error, and the daemon is gone", async (_, then) => {
    const result = await step.attempt({ breach: true, attack: daemon(then) });
    expect(result.signals, result.log).toEqual([]);
    expect(result.code, result.log).toBe(1);
    expect(result.outputs.verdict).toBe("error");
    expect(result.outputs["exit-code"]).toBe("1");
  });

  it("a breach with a daemon that forges outputs stays red", async () => {
    const result = await step.attempt({ breach: true, attack: daemon("") });
    expect(result.code, result.log).toBe(4);
    expect(result.outputs.verdict).toBe("fail");
  });

  it("a cancelled step whose command killed its launcher leaves no daemon and no forged output", async () => {
    const result = await step.attempt({
      attack: daemon(`console.log("now"); process.kill(process.ppid, "SIGKILL"); ${STAY}`),
      step: { cancel: waitFor("now") },
    });
    expect(result.signals).toEqual(["SIGINT"]);
    expect(result.outputs.verdict).toBe("error");
  });

  it("a step over its time with a stopped launcher ends by itself", async () => {
    const result = await step.attempt({
      attack: daemon(`process.kill(process.ppid, "SIGSTOP"); ${STAY}`),
      inputs: { "timeout-minutes": "0.1" },
      // Twice this time for the daemon to begin.
      step: { clock: 0.5 },
    });
    expect(result.signals).toEqual([]);
    expect(result.code, result.log).toBe(1);
    expect(result.outputs.verdict).toBe("error");
  });
});

/** Resolves when the step has printed a text. */
const waitFor = (text: string) => async (output: () => string) => {
  while (!output().includes(text)) await new Promise((resolve) => setTimeout(resolve, 20));
};
