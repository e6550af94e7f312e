import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { canWall, canWallBySudo, type HostilePaths, HostileStep } from "../action/testing/hostile-step.ts";
import { actionNode } from "../action/testing/tools.ts";

const PYTHON = "/usr/bin/python3";
const FIXTURES = path.join(packageRoot(), "test/attacks/fixtures");
const ATTACK = readdirSync(FIXTURES).filter((name) => name.endsWith(".py") && name !== "outside.py");

/** One on the Node of these tests, the other on the Action's. */
const WAYS = [
  ...(canWall ? [{ got: "user", node: process.execPath }] : []),
  ...(canWallBySudo ? [{ got: "sudo", node: actionNode() }] : []),
].filter(() => existsSync(PYTHON));

/** At least as many attempts of each class; most classes grow with the files of the step. */
const CLASSES = {
  signals: 250,
  limits: 120,
  scheduling: 50,
  init: 80,
  tracing: 45,
  proc: 170,
  devices: 25,
  machine: 15,
  files: 300,
  directories: 220,
  "absent files": 250,
  parents: 60,
  mounts: 300,
  namespaces: 200,
  "control groups": 20,
  descriptors: 10,
  sockets: 15,
  memory: 8,
  copies: 30,
  rings: 20,
  locks: 40,
} as const;

type Tried = readonly [kind: string, name: string, result: string];

const attack = (port: string): string => `import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
export const before = (job) => {
  // The second run confirms the breach.
  if (existsSync(job.loot + "/attempts.json")) return;
  const words = ["-E", "-S", "attack/attack.py", JSON.stringify({ ...job, port: ${JSON.stringify(port)} })];
  execFileSync(${JSON.stringify(PYTHON)}, words, { stdio: "inherit" });
};
`;

/** The names, kinds, modes and contents of all that the wall covers, as they are outside. */
function covered({ workspace, action, temp, runner }: HostilePaths): ReadonlyMap<string, string> {
  const seen = new Map<string, string>();
  const look = (file: string): void => {
    // The gate's own git rewrites it.
    if (path.basename(file) === "index") return;
    const found = lstatSync(file);
    const content = (): string => {
      if (found.isSymbolicLink()) return readlinkSync(file);
      // Node is too large to be read.
      if (found.isFile() && found.size > 10_000_000) return String(found.mtimeMs);
      return found.isFile() ? createHash("sha1").update(readFileSync(file)).digest("hex") : "";
    };
    seen.set(file, [found.mode, found.ino, content()].join(" "));
    if (found.isDirectory()) for (const name of readdirSync(file)) look(path.join(file, name));
  };
  for (const name of [".git", "baselines", "stormlog-gate.yml"]) look(path.join(workspace, name));
  for (const name of readdirSync(runner).filter((one) => one !== "_work")) look(path.join(runner, name));
  look(path.join(runner, "_work/_actions"));
  look(path.join(temp, "_runner_file_commands/set_env_of_another_step"));
  look(action);
  return seen;
}

describe.skipIf(WAYS.length === 0).each(WAYS)("a change that attacks the gate from behind the wall, by $got", (way) => {
  let step: HostileStep;
  const port = path.join(tmpdir(), `dotnet-diagnostic-${process.pid}-${way.got}-socket`);
  beforeAll(async () => {
    step = await HostileStep.start({ runner: { node: way.node }, bySudo: way.got === "sudo" });
  }, 120_000);
  afterAll(async () => {
    rmSync(port, { force: true });
    await step.stop();
  });

  it("a command reaches no process, changes no file of the gate, the runner or git, and its breach stays one", async () => {
    let before: ReadonlyMap<string, string> = new Map();
    const result = await step.attempt({
      breach: true,
      inputs: { isolation: "require", attribute: "off" },
      attack: attack(port),
      files: Object.fromEntries(
        ATTACK.map((name) => [`attack/${name}`, readFileSync(path.join(FIXTURES, name), "utf8")]),
      ),
      prepare: (paths) => {
        before = covered(paths);
        const gate = path.join(paths.action, "dist/action/main.js");
        step.startBeside(PYTHON, path.join(FIXTURES, "outside.py"), paths.loot, gate, port);
      },
    });
    expect([...step.loot().keys()], result.log).toContain("attempts.json");
    const tried: readonly Tried[] = JSON.parse(step.loot().get("attempts.json") ?? "[]");
    const count = (kind: string): number => tried.filter(([one]) => one === kind).length;
    expect(tried.filter(([, , outcome]) => /^(?:through|failed)/.test(outcome))).toEqual([]);
    for (const [kind, least] of Object.entries(CLASSES)) expect(count(kind), kind).toBeGreaterThanOrEqual(least);
    expect(JSON.parse(step.loot().get("changed.json") ?? "null")).toEqual([]);
    expect([...covered(step.paths)].filter(([file, state]) => before.get(file) !== state)).toEqual([]);
    expect(result.code, result.log).toBe(4);
    expect(result.outputs.verdict).toBe("fail");
    expect(result.variables).toEqual({});
    expect(readFileSync(path.join(step.paths.temp, "_runner_file_commands/GITHUB_PATH"), "utf8")).toBe("");
    expect(result.summary + result.log).not.toContain("EVIL");
    expect(result.log).not.toContain("read this job's tokens");
    expect(result.log).toMatch(/ended 1 process that outlived the command: python3/);
  }, 180_000);

  it("a command that replaces a link above RUNNER_TEMP does not choose where the gate writes its evidence", async () => {
    const moved = `import fs from "node:fs";
export const after = (job) => {
  fs.rmSync(job.home + "/link", { force: true });
  fs.symlinkSync(job.workspace + "/.git/hooks", job.home + "/link");
  fs.appendFileSync(job.loot + "/moved", "moved");
};
`;
    const { home, temp, workspace } = step.paths;
    const result = await step.attempt({
      inputs: { isolation: "require" },
      attack: moved,
      prepare: () => symlinkSync(temp, path.join(home, "link")),
      env: { RUNNER_TEMP: path.join(home, "link") },
    });
    expect(step.loot().get("moved")).toContain("moved");
    expect(result.code, result.log).toBe(0);
    expect(result.outputs["bundle-path"]).toMatch(new RegExp(`^${temp}/stormlog/`));
    expect(readdirSync(String(result.outputs["bundle-path"]))).toContain("report.json");
    expect(readdirSync(path.join(workspace, ".git/hooks")).filter((name) => !name.endsWith(".sample"))).toEqual([]);
  }, 120_000);
});
