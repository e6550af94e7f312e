import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { builtSteps } from "./testing/build-steps.ts";
import { GitHubDouble } from "./testing/github-double.ts";
import { Job } from "./testing/job.ts";
import { runStepFile, type StepResult } from "./testing/mini-runner.ts";
import { runtimeToken } from "./testing/results-double.ts";
import { actionNode } from "./testing/tools.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = await builtSteps();
const HUNTER = path.join(ROOT, "test/action/fixtures/hunter.mjs");
const UNPRIVILEGED = 65534;

const isRoot = process.getuid?.() === 0;
const canDrop =
  isRoot && spawnSync("setpriv", ["--reuid", String(UNPRIVILEGED), "--clear-groups", "true"]).status === 0;
const linux = process.platform === "linux";

const canary = (kind: string): string => `canary-${randomBytes(16).toString("hex")}-${kind}`;

const SECRETS = {
  token: canary("token"),
  runtime: canary("runtime"),
  oidc: canary("oidc"),
  github: canary("github"),
  state: canary("state"),
} as const;
/** Secrets that the hunter finds, as a control. */
const DECOYS = { file: canary("file"), process: canary("process") } as const;

const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe.skipIf(!linux)("a measured command that hunts for the job's tokens", () => {
  const github = new GitHubDouble();
  let job: Job;
  let sleeper: ChildProcess;
  let node: string;
  let result: StepResult;
  let bundle: string;

  beforeAll(async () => {
    await github.start();
    github.tokens.set(SECRETS.token, { login: "github-actions[bot]", write: true });
    job = new Job(github.url, null).pullRequest(3, "a".repeat(40));
    node = path.join(job.directory, "node");
    // The runner's user is root only in a container: both are tried where this is root.
    const drop = canDrop ? `setpriv --reuid=${UNPRIVILEGED} --regid=${UNPRIVILEGED} --clear-groups ` : "";
    const owned = canDrop ? `chown -R ${UNPRIVILEGED} "$RUNNER_TEMP" "$(dirname "$GITHUB_OUTPUT")"\n` : "";
    writeFileSync(node, `#!/bin/sh\n${owned}exec ${drop}${actionNode()} "$@"\n`);
    chmodSync(node, 0o755);
    chmodSync(job.directory, 0o755);
    writeFileSync(path.join(job.directory, "temp/decoy"), DECOYS.file);
    const args = canDrop ? ["--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "300"] : ["300"];
    sleeper = spawn(canDrop ? "setpriv" : "sleep", args, { env: { PATH: process.env.PATH, DECOY: DECOYS.process } });
    result = await hunt(node);
    bundle = result.outputs["bundle-path"] ?? "";
  }, 90_000);

  afterAll(async () => {
    sleeper.kill("SIGKILL");
    await github.stop();
    job.remove();
  });

  const hunt = (runtime: string, inputs: Readonly<Record<string, string>> = {}): Promise<StepResult> =>
    runStepFile({
      node: runtime,
      script: path.join(BUILT, "action/main.js"),
      cwd: job.directory,
      env: {
        ...job.env,
        HOME: job.directory,
        GITHUB_TOKEN: SECRETS.github,
        GITHUB_WORKSPACE: job.directory,
        ACTIONS_RUNTIME_TOKEN: `${runtimeToken()}${SECRETS.runtime}`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: SECRETS.oidc,
        ACTIONS_ID_TOKEN_REQUEST_URL: "https://example.org",
        // The same token under another name.
        DEPLOY_TOKEN: SECRETS.token,
        STATE_other: SECRETS.state,
      },
      inputs: {
        token: SECRETS.token,
        run: `${process.execPath} ${HUNTER} ${job.directory}/temp ${job.directory} $(dirname ${BUILT})/${path.basename(BUILT)}`,
        baseline: "none",
        unjudged: "pass",
        probe: "off",
        ...inputs,
      },
      timeoutMs: 60_000,
    });

  const finds = ({ log }: StepResult): readonly string[] =>
    [...log.matchAll(/^FOUND (\S+) (\S+)$/gm)].map(([, place, text = ""]) => `${Buffer.from(text, "base64")} ${place}`);

  it("a measured command finds secrets that are not hidden, which is the control", () => {
    const found = finds(result).join("\n");
    for (const decoy of Object.values(DECOYS)) expect(found, result.log).toContain(decoy);
  });

  it.skipIf(isRoot && !canDrop)(
    "a measured command finds no token in its environment, /proc, memory, files or descriptors",
    () => {
      const secrets = Object.values(SECRETS);
      expect(finds(result).filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([]);
      // The step's process was found and is closed.
      expect(result.log).toMatch(/^STEP (\d+) DENIED .*\/proc\/\1\/environ .*\/proc\/\1\/mem/m);
    },
  );

  it("a measured command finds no token in its environment and arguments as any user", async () => {
    const asRoot = canDrop ? await hunt(actionNode()) : result;
    const own = finds(asRoot).filter((line) => / (environment|arguments)$/.test(line));
    expect(own).toEqual([]);
    // Root reads whatever it wants; for others the process is closed, and only code that they rewrite can read it.
    expect(asRoot.log.includes("tokens, because the job runs as root"), asRoot.log).toBe(isRoot);
    if (canDrop) expect(result.log).toContain("tokens, because it is not isolated");
  }, 60_000);

  it("a job without a wall is warned of its tokens where the token may write", async () => {
    const warned = /^::warning [^\n]*read this job's tokens/m;
    expect(result.log).toMatch(warned);
    github.tokens.set("readonly", { login: "github-actions[bot]", write: false });
    const reading = await hunt(node, { token: "readonly" });
    expect(reading.summary).toContain("tokens, because it is not isolated");
    expect(reading.log).not.toMatch(warned);
  }, 60_000);

  it("the bundle, the log, the outputs and the summary contain no token", () => {
    const kept = [result.log.replace(/^::add-mask::.*$/gm, ""), JSON.stringify(result.outputs), result.summary];
    for (const entry of readdirSync(bundle, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) kept.push(readFileSync(path.join(entry.parentPath, entry.name), "latin1"));
    }
    expect(kept.length).toBeGreaterThan(8);
    for (const secret of Object.values(SECRETS)) {
      expect(kept.filter((text) => text.includes(secret) || text.includes(base64(secret)))).toEqual([]);
    }
    expect(github.comments.map(({ body }) => body).join()).not.toMatch(
      /canary-[0-9a-f]{32}-(token|runtime|oidc|github)/,
    );
  });

  it("a measured command cannot set outputs, variables or PATH through the runner's files", async () => {
    const files = path.join(job.directory, "files");
    // Those of this step alone: other tests run steps beside it.
    const runner = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-runner-"));
    onTestFinished(() => rmSync(runner, { recursive: true, force: true }));
    vi.stubEnv("TMPDIR", runner);
    onTestFinished(() => void vi.unstubAllEnvs());
    const forged = await runStepFile({
      node: actionNode(),
      script: path.join(BUILT, "action/main.js"),
      cwd: job.directory,
      env: { ...job.env, GITHUB_WORKSPACE: job.directory },
      inputs: {
        token: SECRETS.token,
        run:
          `for f in ${runner}/stormlog-runner-*/GITHUB_*; do echo "$f" >> ${files}; ` +
          `case "$f" in *SUMMARY) echo "# pass";; *) echo "verdict=pass"; esac >> "$f"; done; true --password hunter2-of-mine`,
        baseline: "none",
        comment: "never",
        probe: "off",
      },
    });
    expect(readFileSync(files, "utf8")).toMatch(/GITHUB_OUTPUT/);
    expect(forged.outputs.verdict).toBe("unjudged");
    expect(forged.state).not.toHaveProperty("verdict");
    expect(forged.summary).not.toContain("# pass\n");
    const directory = forged.outputs["bundle-path"] ?? "";
    const evidence = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(evidence.length).toBeGreaterThan(5);
    for (const { parentPath, name } of evidence) {
      expect(readFileSync(path.join(parentPath, name), "latin1")).not.toContain("hunter2-of-mine");
    }
    const warned = forged.commands.filter(({ message }) => /wrote to files of this step/.test(message));
    expect(warned.map(({ message }) => message)).toEqual([
      "The measured command wrote to files of this step (GITHUB_ENV, GITHUB_OUTPUT, GITHUB_PATH, GITHUB_STATE, GITHUB_STEP_SUMMARY). What it wrote was dropped.",
    ]);
  }, 60_000);
});
