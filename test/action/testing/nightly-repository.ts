import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { type BaselineRecord, parseBaselineRecord } from "../../../src/baseline/record.ts";
import { builtSteps } from "./build-steps.ts";
import { GitDataDouble } from "./double/git-data.ts";
import { NightlyDouble } from "./double/issues.ts";
import { Permissions } from "./double/permissions.ts";
import { GitHubDouble } from "./github-double.ts";
import { Job } from "./job.ts";
import { runStepFile, type StepOptions, type StepResult } from "./mini-runner.ts";
import { actionNode } from "./tools.ts";

/** How much faster the clock of the step runs; measured commands keep real time. */
const CLOCK = 4;
const BUILT = await builtSteps();
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
export const REF = "refs/stormlog/baselines";

const manifest = parse(readFileSync(path.join(ROOT, "refresh/action.yml"), "utf8")) as {
  inputs: Record<string, { default?: string }>;
};

/** Default inputs, from the manifest. */
const DEFAULTS = Object.fromEntries(
  Object.entries(manifest.inputs).flatMap(([name, { default: value }]) =>
    value === undefined || value.startsWith("$") ? [] : [[name, value]],
  ),
);

/** Holds the MiB given in its file for a quarter of a second. */
export const workload = (mib: number): string =>
  `const held = Buffer.alloc(${mib} * 2 ** 20, 1);\nsetTimeout(() => held.fill(2), 250);\n`;

/** A repository whose nightly runs are the built step in a real clone, which is also GitHub's git. */
export class NightlyRepository {
  readonly github = new GitHubDouble();
  readonly people = new Permissions();
  readonly job = new Job("", null);
  readonly workspace = path.join(this.job.directory, "workspace");
  readonly git: GitDataDouble;
  readonly nightly: NightlyDouble;
  #run = 100;

  constructor() {
    mkdirSync(this.workspace);
    this.inClone("init", "--quiet", "--initial-branch=main");
    this.git = new GitDataDouble(path.join(this.workspace, ".git"));
    this.git.delayMs = 1;
    this.nightly = new NightlyDouble(this.git);
  }

  async start(): Promise<void> {
    this.github.use(this.git.routes);
    this.nightly.use(this.github);
    this.github.use(this.people.routes);
    await this.github.start();
    this.github.tokens.set("job", { login: "github-actions[bot]", write: true });
    this.github.tokens.set("readonly", { login: "github-actions[bot]", write: false });
    const { url } = this.github;
    Object.assign(this.job.env, { GITHUB_API_URL: url, GITHUB_GRAPHQL_URL: `${url}/graphql` });
    this.change(
      {
        "stormlog-gate.yml": `scenarios:\n  - name: train\n    run: [${JSON.stringify(process.execPath)}, work.cjs]\n`,
        "work.cjs": workload(64),
      },
      "a program",
    );
  }

  async stop(): Promise<void> {
    await this.github.stop();
    this.git.dispose();
    this.job.remove();
  }

  inClone(...args: string[]): string {
    return execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
      cwd: this.workspace,
      encoding: "utf8",
    }).trim();
  }

  change(files: Readonly<Record<string, string>>, message: string): string {
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(this.workspace, name), text);
    this.inClone("add", "--all");
    this.inClone("commit", "--quiet", "--message", message);
    return this.inClone("rev-parse", "HEAD");
  }

  /** One step, as on schedule unless its environment overrides it. */
  refresh(
    inputs: Readonly<Record<string, string>> = {},
    env: Readonly<Record<string, string>> = {},
    more: Pick<StepOptions, "cancel" | "clock"> = {},
  ): Promise<StepResult> {
    this.#run += 1;
    return runStepFile({
      node: actionNode(),
      script: path.join(BUILT, "action/refresh.js"),
      cwd: this.workspace,
      env: {
        ...this.job.env,
        GITHUB_WORKSPACE: this.workspace,
        GITHUB_EVENT_NAME: "schedule",
        GITHUB_REF: "refs/heads/main",
        GITHUB_RUN_ID: String(this.#run),
        ...env,
      },
      inputs: { ...DEFAULTS, token: "job", probe: "off", ...inputs },
      timeoutMs: 120_000,
      clock: CLOCK,
      ...more,
    });
  }

  onRef(name: string): string {
    return this.git.git("show", `${REF}:${name}`);
  }

  record(): BaselineRecord {
    const names = this.git.git("ls-tree", "-r", "--name-only", REF).split("\n");
    const name = names.find((one) => one.startsWith("train/")) ?? "";
    return parseBaselineRecord(JSON.parse(this.onRef(name)), name);
  }

  /** Of each epoch, which runs are approved. */
  approvals(): readonly (readonly boolean[])[] {
    return this.record().epochs.map(({ runs }) => runs.map(({ approved }) => approved));
  }
}
