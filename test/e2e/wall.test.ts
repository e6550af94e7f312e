import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lchownSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { AS_USER, canWall, canWallAsRoot, isRoot, MASKED, USER, userDirectory, WAYS } from "../testing/walls.ts";
import { cli } from "./cli.ts";

/** A directory of the user whom the gate runs as. */
function own(...names: readonly string[]): string {
  const directory = userDirectory(...names);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

describe.skipIf(WAYS.length === 0).each(WAYS)("a command behind the wall, by $got", ({ got, under }) => {
  const recordBy = (node: readonly string[], cwd: string, env: Record<string, string>, ...command: readonly string[]) =>
    cli(["record", "--isolation", "require", "--output", "out", "--", ...command], {
      cwd,
      env: { HOME: cwd, ...env },
      under: [...under(cwd), ...node],
    });
  const record = (cwd: string, env: Record<string, string>, ...command: readonly string[]) =>
    recordBy([], cwd, env, ...command);

  it("a walled command is measured under the pids that it sees itself, in the environment and rights of its user", async () => {
    const cwd = own();
    const program = `const fs = require("node:fs");
const kept = Buffer.alloc(40 << 20, 1);
const denied = ["out/samples.rec", "out/new"].filter((file) => { try { fs.writeFileSync(file, "x"); } catch { return true; } });
const status = fs.readFileSync("/proc/self/status", "utf8");
console.log(process.pid, process.getuid(), process.env.WORD, denied.length, /CapEff:\\t0+\\n/.test(status));
setTimeout(() => console.log(kept.length), 300);`;
    const { code, stderr, stdout } = await record(cwd, { WORD: "a b" }, process.execPath, "-e", program);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("41943040");
    const info = JSON.parse(readFileSync(path.join(cwd, "out", "recording.json"), "utf8"));
    expect(info.fingerprint.isolation).toBe(got);
    expect(info.identity.pid).toBe(2);
    const user = isRoot ? USER : process.getuid?.();
    expect(readFileSync(path.join(cwd, "out", "output.log"), "utf8")).toContain(`2 ${user} a b 2 true`);
    const [host] = info.peaks.filter((peak: { metric: string }) => peak.metric === "host");
    expect(host.bytes / 2 ** 20).toBeGreaterThan(40);
    expect(info.lost.filter((note: string) => !note.includes("busy"))).toEqual([]);
  });

  it("a walled command writes the runner's file commands into a copy that is thrown away", async () => {
    const cwd = own("temp", "temp/_runner_file_commands");
    const file = path.join(cwd, "temp", "_runner_file_commands", "add_path_1");
    writeFileSync(file, "before\n");
    chmodSync(file, 0o666);
    const script = `grep -q before ${file} && echo after >> ${file} && cat ${file}`;
    const { code, stderr, stdout } = await record(cwd, { RUNNER_TEMP: path.join(cwd, "temp") }, "sh", "-c", script);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("before\nafter");
    expect(readFileSync(file, "utf8")).toBe("before\n");
  });

  it("a walled command that replaces a link above the recording does not choose where the gate writes", async () => {
    const cwd = own("real", "other");
    symlinkSync("real", path.join(cwd, "link"));
    if (isRoot) lchownSync(path.join(cwd, "link"), USER, USER);
    const { code, stderr } = await cli(
      ["record", "--isolation", "require", "--output", "link/out", "--", "sh", "-c", "rm link && ln -s other link"],
      { cwd, env: { HOME: cwd }, under: under(cwd) },
    );
    expect(code, stderr).toBe(0);
    expect(readlinkSync(path.join(cwd, "link"))).toBe("other");
    expect(readdirSync(path.join(cwd, "other"))).toEqual([]);
    expect(readdirSync(path.join(cwd, "real", "out"))).toEqual(expect.arrayContaining(["samples.parquet"]));
  });

  it.each([
    ["home", []],
    // Unpacked into the home directory, where programs make files.
    ["runner", ["runner", "runner/other"]],
  ])("a walled command writes what is its job's in a runner's directory, with HOME=%s", async (home, others) => {
    const node = "runner/externals/node24/bin";
    const written = ["home", "runner/tools", "runner/_work", "runner/_work/_temp", "runner/_work/model", ...others];
    const kept = ["runner/bin", "runner/externals", "runner/externals/node24", node];
    const all = new Set(["runner", "runner/other", ...kept, ...written]);
    const cwd = own(...all);
    const at = (name: string): string => path.join(cwd, name);
    copyFileSync(process.execPath, at(`${node}/node`));
    writeFileSync(at("runner/.env"), "A=1\n");
    chmodSync(at("runner/.env"), 0o666);
    const script = `cd ${cwd}; echo B=2 >> runner/.env; for name; do touch $name/new && echo "wrote <$name>"; done`;
    const { stdout, stderr } = await recordBy(
      ["sh", "-c", 'shift && exec "$0" "$@"', at(`${node}/node`)],
      cwd,
      {
        HOME: at(home),
        RUNNER_TOOL_CACHE: at("runner/tools"),
        RUNNER_TEMP: at("runner/_work/_temp"),
        GITHUB_WORKSPACE: at("runner/_work/model/model"),
      },
      ...["sh", "-c", script, "sh", ...all],
    );
    const wrote = [...stdout.matchAll(/wrote <(.*)>/g)].map(([, name]) => name);
    expect(wrote.sort(), stderr).toEqual(written.sort());
    expect(readFileSync(at("runner/.env"), "utf8")).toBe("A=1\n");
  });

  it("a walled command finds the driver's device nodes made before it starts, since a setuid helper is powerless there", async () => {
    const cwd = own("bin");
    const made = path.join(cwd, "made");
    const helper = path.join(cwd, "bin", "nvidia-modprobe");
    writeFileSync(helper, `#!/bin/sh\nexec echo "$@" >> ${made}\n`, { mode: 0o755 });
    const PATH = `${path.join(cwd, "bin")}:${process.env.PATH}`;
    const { code, stderr, stdout } = await record(cwd, { PATH }, "cat", made);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("-u -c=0\n");
  });
});

const commandLines = (): readonly string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => `/proc/${pid}/cmdline`);

describe.skipIf(!canWallAsRoot)("a command of root behind the wall", () => {
  it("a command of root reaches no process outside, leaves none, and may write any file, which the report states", async () => {
    const cwd = own();
    const script = `kill -0 ${process.pid} && echo 1 > reached; kill -9 1
ls /proc | grep -c '^[0-9]' > processes; echo forged > stormlog-bundle/note
env -i setsid sleep 31.${process.pid} >&- 2>&- & sleep 0.2`;
    const options = ["--isolation", "auto", "--baseline", "none", "--unjudged", "pass"];
    const { code, stdout, stderr } = await cli(["run", ...options, "--", "sh", "-c", script], { cwd });
    expect(code, stderr).toBe(0);
    expect(existsSync(path.join(cwd, "reached"))).toBe(false);
    // The init, the shell, and those that count.
    expect(Number(readFileSync(path.join(cwd, "processes"), "utf8"))).toBeLessThanOrEqual(5);
    expect(stdout).toContain("ended 1 process that outlived the command: sleep");
    expect(spawnSync("grep", ["-lz", `^31.${process.pid}$`, ...commandLines()], { encoding: "utf8" }).stdout).toBe("");
    const bundle = path.join(cwd, "stormlog-bundle");
    expect(readFileSync(path.join(bundle, "note"), "utf8")).toBe("forged\n");
    expect(JSON.parse(readFileSync(path.join(bundle, "report.json"), "utf8")).payload.isolation).toEqual({
      wanted: "auto",
      got: "root",
      reason: "as root, what the command may write is not limited",
    });
  });
});

describe.skipIf(!isRoot)("a command that cannot be isolated", () => {
  it.skipIf(!canWall)(
    "a command is measured without a wall where /proc is masked, as in a container, and the reason is said",
    async () => {
      const under = ["unshare", "--mount", "sh", "-c", `${MASKED} && exec "$@"`, "sh", ...AS_USER];
      const { stdout, stderr } = await cli(["doctor"], { cwd: own(), under });
      expect(stdout.replace(/\s+/g, " "), stderr).toContain(
        "isolation /proc cannot be mounted in a namespace, as in most containers (EPERM)",
      );
    },
  );

  it("isolation is refused where it is required of root, who may write through any wall", async () => {
    const refused = await cli(["record", "--isolation", "require", "--", "true"], { cwd: own() });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("error ISOLATION_UNAVAILABLE: the command cannot be isolated: as root,");
  });
});
