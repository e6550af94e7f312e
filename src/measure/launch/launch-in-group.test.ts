import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { describe, expect, it, vi } from "vitest";
import { launchInGroup } from "./launch-in-group.ts";
import { ProcessTree } from "./process-tree.ts";
import { endLeftovers, stopTree } from "./stop-tree.ts";

const launched = (...argv: string[]) => launchInGroup({ argv, cwd: "/", wall: null, env: { PATH: "/usr/bin:/bin" } });
/** As on macOS, where no process can be found by its marker. */
const NO_TREE = new ProcessTree(2 ** 22 + 1, "A_MARKER=of no process");
const isGone = (pid: number): boolean => {
  try {
    return /^\S+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return true;
  }
};

describe.skipIf(process.platform !== "linux")("a command that leads a process group", () => {
  it("a command in a group waits for its order under the pid that it keeps", async () => {
    const command = await launched("sh", "-c", "echo $$; echo problem >&2; exit 7");
    expect(readFileSync(`/proc/${command.rootPid}/cmdline`, "latin1")).toMatch(/^\/bin\/sh\0-c\0read /);
    command.send("g");
    expect(await Promise.all([text(command.stdout), text(command.stderr), command.ended])).toEqual([
      `${command.commandPid()}\n`,
      "problem\n",
      { kind: "exited", code: 7 },
    ]);
    expect(await endLeftovers(command, NO_TREE)).toEqual([]);
    expect([command.isClosed(), command.rootPid]).toEqual([true, command.commandPid()]);
  });

  it("a command in a group inherits neither orders nor status", async () => {
    const command = await launched("sh", "-c", "ls /proc/$$/fd");
    command.send("g");
    // sh and ls have no others.
    expect((await text(command.stdout)).split("\n").filter((fd) => /^[34]$/.test(fd))).toEqual([]);
    await endLeftovers(command, NO_TREE);
  });

  it("a command in a group that cannot be started is reported as one, and its shell ends", async () => {
    const command = await launched("no-such-command-here");
    command.send("g");
    expect(await command.ended).toEqual({ kind: "exec-failed", errno: "ENOENT" });
    await endLeftovers(command, NO_TREE);
    expect(isGone(command.rootPid)).toBe(true);
  });

  it("a command in a group ends with its children, also with those of a session of their own, when it ignores signals", async () => {
    const loop = 'trap "" INT TERM; while :; do sleep 60 & wait; done';
    const command = await launched("sh", "-c", `setsid sh -c '${loop}' & echo $!; ${loop}`);
    command.send("g");
    const [line] = (await command.stdout[Symbol.asyncIterator]().next()).value.toString().split("\n");
    await stopTree(command, NO_TREE);
    expect(await command.ended).toEqual({ kind: "signaled", signal: "SIGKILL" });
    await endLeftovers(command, NO_TREE);
    expect(isGone(command.rootPid)).toBe(true);
    await vi.waitFor(() => expect(isGone(Number(line))).toBe(true), 10_000);
  });

  it("a command in a group leaves no process of its group", async () => {
    const command = await launched("sh", "-c", "sleep 60 & echo $!");
    command.send("g");
    const [line] = (await command.stdout[Symbol.asyncIterator]().next()).value.toString().split("\n");
    expect(await command.ended).toEqual({ kind: "exited", code: 0 });
    await endLeftovers(command, NO_TREE);
    // SIGKILL takes effect after the call that sends it.
    await vi.waitFor(() => expect(isGone(Number(line))).toBe(true), 10_000);
  });
});
