import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import { readStat } from "../../sampler/proc.ts";
import { jvmProcess, liveBytes } from "./attach.ts";
import { HeldHeap } from "./jvm-watch.ts";

const memberOf = (pid: number) => ({ pid, startTicks: readStat(pid)?.startTicks ?? 0 });
const forever = new AbortController().signal;

/** What is made of an answer of a machine, for which this process stands. */
async function answeredWith(answer: string) {
  const jvm = jvmProcess(memberOf(process.pid));
  if (jvm === null) throw new Error("this process is alive");
  const socket = `/tmp/.java_pid${jvm.ownPid}`;
  rmSync(socket, { force: true });
  let request = "";
  const server = createServer((connection) =>
    connection.on("data", (chunk) => {
      request += chunk.toString("latin1");
      connection.end(answer, "latin1");
    }),
  ).listen(socket);
  await once(server, "listening");
  try {
    return { bytes: await liveBytes(jvm, forever), request };
  } finally {
    server.close();
    rmSync(socket, { force: true });
  }
}

const HISTOGRAM = ` num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:          1200        6000000  [B (java.base@17.0.15)
Total          9315        6461864
`;

describe.skipIf(process.platform !== "linux")("the live objects of a Java virtual machine", () => {
  it("liveBytes asks by the protocol of jcmd, and takes the total of its histogram", async () => {
    const { bytes, request } = await answeredWith(`0\n${HISTOGRAM}`);
    expect(bytes).toBe(6_461_864);
    expect(request).toBe("1\0jcmd\0GC.class_histogram\0\0\0");
  });

  it.each([
    ["an error", `1\n${HISTOGRAM}`],
    ["an answer without a total", "0\nExplicit GC is disabled\n"],
    ["a total in words", "0\nTotal many bytes\n"],
    ["an absurd total", `0\nTotal 1 ${"9".repeat(40)}\n`],
    ["an empty answer", ""],
  ])("liveBytes does not take %s for a size", async (_, answer) => {
    expect((await answeredWith(answer)).bytes).toBeNull();
  });

  it("liveBytes sends no signal to a process that does not handle it", async () => {
    const child = spawn("sleep", ["600"], { stdio: "ignore" });
    await once(child, "spawn");
    const found = jvmProcess(memberOf(child.pid ?? 0));
    expect(found).not.toBeNull();
    expect(await liveBytes(found!, forever)).toBeNull();
    child.kill("SIGTERM");
    // SIGQUIT, had it been sent, would have come first.
    expect(await once(child, "exit")).toEqual([null, "SIGTERM"]);
  });
});

describe("what a Java heap takes of the host", () => {
  const heap = (young: number, old: number, committed: number) => ({
    generations: [
      { used: young * MIB, committed: (committed / 2) * MIB },
      { used: old * MIB, committed: (committed / 2) * MIB },
    ],
    fullCollections: 0,
    isShared: false,
    attachable: true,
  });

  it("HeldHeap is the most that its generations have used, where that is near to what is committed", () => {
    const held = new HeldHeap();
    const grown = [heap(10, 20, 100), heap(0, 25, 100), heap(50, 5, 80), heap(40, 30, 76)];
    expect(grown.map((one) => held.update(one))).toEqual([null, null, 75 * MIB, 76 * MIB]);
    // The heap was shrunk, and extended again.
    expect([heap(1, 10, 20), heap(1, 10, 100)].map((one) => held.update(one))).toEqual([20 * MIB, null]);
  });
});
