import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { measured, node, temporaryDirectory } from "./kit.ts";

const GIB = 2 ** 30;

describe("the output of a measured command", () => {
  it("the output is shown, split by stream, and kept in one log", async () => {
    const { info, directory, stdout, stderr } = await measured(["sh", "-c", "echo one; echo two >&2"]);
    expect([stdout, stderr]).toEqual(["one\n", "two\n"]);
    expect(readFileSync(path.join(directory, "output.log"), "utf8").split("\n").sort()).toEqual(["", "one", "two"]);
    expect(info.output).toEqual({ bytes: 8, kept_bytes: 8 });
  });

  it("the output can be opened again by name, as scripts do", async () => {
    const { stderr, info } = await measured(["sh", "-c", "echo seen > /dev/stderr"]);
    expect(stderr).toBe("seen\n");
    expect(info.exit).toEqual({ kind: "exited", code: 0 });
  });

  it("an output of 1 GiB fills neither memory nor disk", async () => {
    const before = process.memoryUsage().rss;
    let shown = 0;
    let peak = 0;
    const { info, directory } = await measured(["sh", "-c", "yes 0123456789abcde | head -c 1073741824; echo end"], {
      stdout: (chunk) => {
        shown += chunk.length;
        if (shown % (64 * 2 ** 20) < chunk.length) peak = Math.max(peak, process.memoryUsage().rss);
      },
      hostPeriodNs: 20e6,
    });
    expect(info.exit).toEqual({ kind: "exited", code: 0 });
    expect(shown).toBe(GIB + 4);
    expect(info.output?.bytes).toBe(GIB + 4);
    expect(peak - before).toBeLessThan(200 * 2 ** 20);
    const log = path.join(directory, "output.log");
    expect(statSync(log).size).toBeLessThan(600 * 1024);
    const text = readFileSync(log, "utf8");
    expect(text.startsWith("0123456789abcde\n")).toBe(true);
    expect(text).toMatch(/\n\[stormlog-gate: \d+ bytes of output left out here\]\n0123456789abcde\n/);
    expect(text.endsWith("0123456789abcde\nend\n")).toBe(true);
  });

  it("a command that closes stdout continues", async () => {
    const { info } = await measured(
      node("require('fs').closeSync(1);require('fs').closeSync(2);setTimeout(()=>process.exit(5),200)"),
    );
    expect(info.exit).toEqual({ kind: "exited", code: 5 });
  });

  it("output that can no longer be shown is still kept", async () => {
    let calls = 0;
    const { info, directory } = await measured(["sh", "-c", "echo a; sleep 0.2; echo b"], {
      stdout: () => {
        calls += 1;
        throw new Error("EPIPE");
      },
    });
    expect(calls).toBe(1);
    expect(readFileSync(path.join(directory, "output.log"), "utf8")).toBe("a\nb\n");
    expect(info.lost).toContain("output was no longer shown: EPIPE");
  });

  it("keeps bytes that are not text as they are", async () => {
    const { directory } = await measured(node("process.stdout.write(Buffer.from([0,255,254,27,10,128]))"));
    expect([...readFileSync(path.join(directory, "output.log"))]).toEqual([0, 255, 254, 27, 10, 128]);
  });
});

describe("progress", () => {
  it("progress comes at most ten times a second and shows the tree", async () => {
    const views: number[] = [];
    let whole = 0;
    const shell = path.join(temporaryDirectory(), "pid");
    // The command and two children, until the progress has shown all three in three views.
    const script = `sleep 600 & a=$!; sleep 600 & b=$!; trap 'kill $a $b; exit 0' USR1; echo $$ > "$0"; wait`;
    const { info } = await measured(["sh", "-c", script, shell], {
      onProgress: (view) => {
        views.push(view.timeNs);
        if (view.processes === 3 && existsSync(shell)) whole += 1;
        if (view.processes === 3 && whole === 3) process.kill(Number(readFileSync(shell, "utf8")), "SIGUSR1");
      },
    });
    expect(whole).toBeGreaterThanOrEqual(3);
    expect(views.length).toBeLessThanOrEqual(Math.ceil((info.clock.duration_s ?? 0) * 10));
  });
});
