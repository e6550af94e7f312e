import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canWall, HostileStep } from "../action/testing/hostile-step.ts";

/** What it could do, by name: an attempt that does not throw is through. */
const ATTACK = `import * as fs from "node:fs";
import path from "node:path";
import { execFileSync, spawnSync } from "node:child_process";
export const before = ({ workspace, action, temp, loot }) => {
  const through = [];
  const tried = [];
  const attempt = (name, deed) => {
    tried.push(name);
    try { deed(); through.push(name); } catch {}
  };
  const run = (...words) => execFileSync(words[0], words.slice(1), { stdio: "ignore" });
  const below = (directory) => fs.readdirSync(directory, { recursive: true, withFileTypes: true });
  const reached = [];
  for (let pid = 1; pid < LAST_PID; pid++) try { process.kill(pid, 0); reached.push(pid); } catch {}
  const pids = fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name));
  const own = new Set(pids.flatMap((pid) => fs.readdirSync("/proc/" + pid + "/task")).map(Number));
  through.push(...reached.filter((pid) => !own.has(pid)).map((pid) => "reach " + pid));
  attempt("the environment of the init", () => fs.readFileSync("/proc/1/environ"));
  attempt("the root of the init", () => fs.readdirSync("/proc/1/root/"));
  attempt("a descriptor of the init", () => fs.readlinkSync("/proc/1/fd/0"));
  for (const signal of ["SIGKILL", "SIGSTOP", "SIGTERM", "SIGUSR1", "SIGSEGV"]) process.kill(1, signal);
  const names = [
    [workspace, ".git/HEAD", ".git/config", ".git/hooks/post-checkout", "baselines/x.json", "stormlog-gate.yml"],
    [action, "dist/action/main.js", "dist/prebuilds/new", "dist/cli.js"],
  ];
  for (const [directory, ...files] of names) for (const name of files) {
    const file = path.join(directory, name);
    attempt("write " + name, () => fs.writeFileSync(file, "x"));
    attempt("append to " + name, () => fs.appendFileSync(file, "x"));
    attempt("remove " + name, () => fs.rmSync(file));
    attempt("chmod " + name, () => fs.chmodSync(file, 0o777));
    attempt("link over " + name, () => { fs.symlinkSync("/etc/passwd", file + ".new"); fs.renameSync(file + ".new", file); });
    const nested = "mount -o remount,bind,rw '" + path.dirname(file) + "' || umount '" + path.dirname(file) + "'; echo x > '" + file + "'";
    attempt("write in a nested namespace " + name, () => run("unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", nested));
  }
  for (const directory of [".git", "baselines"]) {
    const real = path.join(workspace, directory);
    attempt("rename " + directory, () => fs.renameSync(real, real + "-old"));
    attempt("cover " + directory, () => run("mount", "--bind", temp, real));
    attempt("uncover " + directory, () => run("umount", "-l", real));
  }
  for (const entry of below(temp)) {
    const file = path.join(entry.parentPath, entry.name);
    if (!entry.isFile() || file.includes("/probe/")) continue;
    attempt("append to the gate's " + entry.name, () => fs.appendFileSync(file, "x"));
    attempt("rename the gate's " + entry.name, () => fs.renameSync(file, file + ".old"));
  }
  attempt("rename the bundle", () => {
    for (const name of fs.readdirSync(temp)) fs.renameSync(path.join(temp, name), path.join(temp, name + "-old"));
  });
  spawnSync("prlimit", ["--pid", "1", "--nofile=3:3", "--fsize=0:0"]);
  spawnSync("sh", ["-c", "setsid sleep 600 &"], { stdio: "ignore" });
  fs.writeFileSync(path.join(loot, "tried"), tried.join("\\n"));
  fs.writeFileSync(path.join(loot, "through"), through.join("\\n"));
};`;

describe.skipIf(!canWall)("a change that attacks the gate from behind the wall", () => {
  let step: HostileStep;
  beforeAll(async () => {
    step = await HostileStep.start();
  }, 120_000);
  afterAll(() => step.stop());

  it("a command reaches no process and writes no file of the gate, and its breach stays one", async () => {
    const attack = ATTACK.replace("LAST_PID", String(process.pid + 5000));
    const result = await step.attempt({ breach: true, inputs: { isolation: "require" }, attack });

    expect(step.loot().get("tried")?.split("\n").length).toBeGreaterThan(60);
    expect(step.loot().get("through")).toBe("");
    expect(result.code, result.log).toBe(4);
    expect(result.outputs.verdict).toBe("fail");
    expect(result.log).not.toContain("read this job's tokens");
    expect(result.log).toContain("ended 1 process that outlived the command: sleep");
  }, 120_000);
});
