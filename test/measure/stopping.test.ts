import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  anyThreadLives,
  livingWith,
  measured,
  node,
  temporaryDirectory,
  uniqueWord,
  WITHOUT_FIRST_THREAD,
} from "./kit.ts";

/** Ignores what it can ignore, and stays. */
const STUBBORN = "process.on('SIGINT',()=>{});process.on('SIGTERM',()=>{});setInterval(()=>{},1000);";
/** Starts a stubborn process in a separate session and reports its marker. */
const spawnSession = (env: string) =>
  `require('child_process').spawn(process.execPath,['-e',${JSON.stringify(STUBBORN)},process.argv[1]],{detached:true,stdio:'ignore',env:${env}}).unref();`;
const hasPython = (await import("node:child_process")).spawnSync("python3", ["--version"]).status === 0;
const DOUBLE_FORK = `
import os, sys, time, signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    os._exit(0)
os.wait()
if "stay" in sys.argv: time.sleep(600)
`;

describe("ending a run", () => {
  it("ends a command that exceeds its timeout, and records that", async () => {
    const word = uniqueWord();
    const { info } = await measured(node("setTimeout(()=>{},60000)", word), { timeoutS: 0.6 });
    expect(info.exit).toEqual({ kind: "timeout", after_s: 0.6 });
    expect(info.complete).toBe(true);
    expect(info.peaks).toHaveLength(1);
    expect(livingWith(word)).toEqual([]);
  });

  it("allows a command to clean up after SIGINT", async () => {
    const interrupt = new AbortController();
    const ready = path.join(temporaryDirectory(), "ready");
    const command = measured(
      node(
        "process.on('SIGINT',()=>{console.log('cleaned');process.exit(3)});setInterval(()=>{},1000);" +
          "require('fs').writeFileSync(process.argv[1],'')",
        ready,
      ),
      { interrupt: interrupt.signal },
    );
    while (!existsSync(ready)) await sleep(20);
    interrupt.abort("SIGTERM");
    const { info, stdout } = await command;
    expect(info.exit).toEqual({ kind: "interrupted", signal: "SIGTERM" });
    expect(stdout).toBe("cleaned\n");
  });

  it("kills a tree that ignores signals, with a child in its own session", async () => {
    const word = uniqueWord();
    const interrupt = new AbortController();
    const command = measured(node(spawnSession("process.env") + STUBBORN, word), { interrupt: interrupt.signal });
    // Both are there; how far they have come with ignoring signals is left to them.
    while (livingWith(word).length < 2) await sleep(20);
    interrupt.abort(new Error("the step was cancelled (SIGINT)"));
    const { info } = await command;
    expect(info.exit).toEqual({ kind: "interrupted", signal: "SIGINT" });
    expect(livingWith(word)).toEqual([]);
  });

  it("ends what a command leaves running, and reports it", async () => {
    const word = uniqueWord();
    const { info } = await measured(node(spawnSession("process.env"), word));
    expect(info.exit).toEqual({ kind: "exited", code: 0 });
    expect(info.lost.join("\n")).toMatch(/ended 1 process that outlived the command: node/);
    expect(livingWith(word)).toEqual([]);
  });

  it("starts a program of the checkout as the command alone, whatever interpreter it is named after", async () => {
    const word = uniqueWord();
    const cwd = temporaryDirectory();
    const daemon = `(env -i setsid sh -c 'sleep 30; :' ${word} </dev/null >/dev/null 2>&1 &)`;
    mkdirSync(path.join(cwd, "bin"));
    writeFileSync(
      path.join(cwd, "bin/python"),
      `#!/bin/sh\necho "$*" >>calls\ncase "$*" in *--version*) ${daemon} ;; esac\n`,
      { mode: 0o755 },
    );
    await measured(["./bin/python", "x"], { cwd });
    expect(readFileSync(path.join(cwd, "calls"), "utf8")).toBe("x\n");
    expect(livingWith(word)).toEqual([]);
  });

  it.skipIf(!hasPython)("ends a daemon that forked twice", async () => {
    const word = uniqueWord();
    const { info } = await measured(["python3", "-c", DOUBLE_FORK, word]);
    expect(info.lost.join("\n")).toContain("outlived the command");
    expect(livingWith(word)).toEqual([]);
  });

  it.skipIf(!hasPython)("ends a daemon whose first thread has ended", async () => {
    const file = path.join(temporaryDirectory(), "pid");
    const script = `env -i setsid python3 -c '${WITHOUT_FIRST_THREAD}' ${file} & while [ ! -s ${file} ]; do sleep 0.1; done; sleep 0.5`;
    const { info } = await measured(["sh", "-c", script], { probe: "off" });
    expect(info.lost.join("\n")).toContain("outlived the command: python3");
    expect(anyThreadLives(Number(readFileSync(file, "utf8")))).toBe(false);
  });

  it("does not report helpers that end on their own", async () => {
    // It reads until the shell's end closes its pipe, and lives a little longer.
    const { info } = await measured(["bash", "-c", "exec 3> >(cat > /dev/null; exec sleep 0.05); exit 0"]);
    expect(info.lost.filter((note) => note.includes("outlived the command"))).toEqual([]);
  });

  it("finds a child that left the session, cleared its environment and lost its parent", async () => {
    const word = uniqueWord();
    const { info } = await measured(node(spawnSession("{}"), word));
    expect(info.lost.join("\n")).toContain("outlived the command");
    expect(livingWith(word)).toEqual([]);
  });

  it("ends 500 children", async () => {
    const word = uniqueWord();
    const { info } = await measured(
      [
        "sh",
        "-c",
        `i=0; while [ $i -lt 500 ]; do sh -c 'trap "" INT TERM; while :; do sleep 100; done' ${word} & i=$((i+1)); done; wait`,
      ],
      { timeoutS: 2 },
    );
    expect(info.exit.kind).toBe("timeout");
    expect(livingWith(word)).toEqual([]);
  });

  it("notices that the launcher itself was killed, and ends the tree", async () => {
    const word = uniqueWord();
    const { info } = await measured(
      node(`${spawnSession("process.env")}setTimeout(()=>process.kill(process.ppid,'SIGKILL'),300);${STUBBORN}`, word),
    );
    expect(info.exit).toEqual({ kind: "running" });
    expect(info.lost.join("\n")).toContain("the launcher ended before the command");
    expect(livingWith(word)).toEqual([]);
  });
});
