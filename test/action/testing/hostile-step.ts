import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { packageRoot } from "../../../src/core/package-root.ts";
import { builtSteps } from "./build-steps.ts";
import { GitHubDouble } from "./github-double.ts";
import { runStepFile, type StepOptions, type StepResult } from "./mini-runner.ts";
import { runtimeToken } from "./results-double.ts";
import { actionNode } from "./tools.ts";

/**
 * A step of the gate that measures hostile code: the Action as built from the sources, owned by the user that runs it,
 * an ordinary user without capabilities, on the Node that GitHub runs it with, and with a canary as each token.
 */

const USER = 65534;
const MEBIBYTE = 2 ** 20;
/** What the honest program holds, and what a breach adds: far above any limit. */
const HONEST_MIB = 40;
const BREACH_MIB = 280;

const isRoot = process.getuid?.() === 0;
const AS_USER = ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups", "--inh-caps=-all"];
const DROP = [...AS_USER, "--bounding-set=-all", "--no-new-privs"];

/** Whether such a step can run here: on Linux, as an ordinary user or as root that can become one. */
export const canBeHostile: boolean =
  process.platform === "linux" &&
  (!isRoot || spawnSync(DROP[0] ?? "", [...DROP.slice(1), "true"]).status === 0) &&
  spawnSync("git", ["--version"]).status === 0;

/** Whether such a step can have a wall: a container may refuse an ordinary user namespaces of its own. */
export const canWall: boolean = canBeHostile && hasNamespaces();

/** Whether such a step can have one as root's, by `sudo`. */
export const canWallBySudo: boolean = canWall && isRoot && spawnSync("sudo", ["-n", "true"]).status === 0;

function hasNamespaces(): boolean {
  const namespaces = ["unshare", "--user", "--pid", "--mount", "--fork", "--mount-proc", "true"];
  const [program = "", ...args] = [...(isRoot ? DROP : []), ...namespaces];
  return spawnSync(program, args).status === 0;
}

const canary = (kind: string): string => `canary-${randomBytes(16).toString("hex")}-${kind}`;

/**
 * The measured program. It imports `attack.mjs` where there is one, and calls its `before(job)` and `after(job)` around
 * the allocation, in every run.
 */
const WORK = `import { existsSync, readFileSync } from "node:fs";
const job = JSON.parse(readFileSync(new URL("./job.json", import.meta.url), "utf8"));
const attack = existsSync(new URL("./attack.mjs", import.meta.url)) ? await import("./attack.mjs") : {};
await attack.before?.(job);
const kept = Buffer.alloc(Number(readFileSync(new URL("./mebibytes", import.meta.url), "utf8")) * ${MEBIBYTE}, 1);
await new Promise((resolve) => setTimeout(resolve, 300));
await attack.after?.(job);
if (kept.length === 0) process.exitCode = 1;
`;

const CONFIG = `scenarios:
  - name: train
    run: ${JSON.stringify([process.execPath, "work.mjs"])}
baseline: file:baselines
`;

/** As in most containers: only root may mount another /proc. */
const MASKED = "mount --bind /etc/hostname /proc/uptime";

export interface HostileOptions {
  /** The runner's own files lie around the checkout, as on a runner of one's own, with this Node as the Action's. */
  readonly runner?: { readonly node: string };
  /** The user is refused user namespaces and may start `sudo`. */
  readonly bySudo?: boolean;
  /** Contents of `stormlog-gate.yml` on the main branch. */
  readonly config?: string;
  /** Further files of the main branch, by their path in the repository. */
  readonly files?: Readonly<Record<string, string>>;
  /** Address of a double of the artifact service. */
  readonly resultsUrl?: string;
}

export interface Attempt {
  /** JavaScript module with `before(job)` and `after(job)`; `job` is `HostileStep.paths`. */
  readonly attack?: string;
  /** Whether the change allocates 280 MiB more than its baseline, so that an honest answer is exit 4. */
  readonly breach?: boolean;
  /** Files that the change commits, by their path in the repository; null deletes one. */
  readonly files?: Readonly<Record<string, string | null>>;
  /** Called as the test's own user when the change is committed and before the step starts. */
  readonly prepare?: (paths: HostilePaths) => void;
  readonly inputs?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly step?: Partial<StepOptions>;
}

export interface HostilePaths {
  /** The checkout, where the command starts. */
  readonly workspace: string;
  /** The Action's own directory, with `dist/`. */
  readonly action: string;
  readonly home: string;
  /** RUNNER_TEMP. */
  readonly temp: string;
  /** An empty directory for what an attack finds or proves. */
  readonly loot: string;
  /** The runner's directory, where one is asked for. */
  readonly runner: string;
}

/** An attack may have left a locked directory, or nested some deeper than Node removes. */
function remove(directories: readonly string[]): void {
  spawnSync("sh", ["-c", 'chmod -R u+rwX "$@"; rm -rf "$@"', "sh", ...directories]);
}

/** One repository with a baseline, in which any number of attempts are made, each on a fresh copy. */
export class HostileStep {
  readonly github = new GitHubDouble();
  readonly secrets = {
    token: canary("token"),
    runtime: canary("runtime"),
    oidc: canary("oidc"),
    github: canary("github"),
  };
  readonly paths: HostilePaths;
  readonly #directory: string;
  readonly #pristine: string;
  readonly #options: HostileOptions;
  #node = "";

  private constructor(options: HostileOptions) {
    this.#options = options;
    this.#directory = mkdtempSync(path.join(tmpdir(), "stormlog-hostile-"));
    chmodSync(this.#directory, 0o755);
    const at = (name: string): string => path.join(this.#directory, name);
    this.#pristine = at("pristine");
    const runner = at("home/actions-runner");
    const isRunner = options.runner !== undefined;
    this.paths = {
      workspace: isRunner ? path.join(runner, "_work/model/model") : at("workspace"),
      action: isRunner ? path.join(runner, "_work/_actions/octo/gate/v1") : at("action"),
      home: at("home"),
      temp: isRunner ? path.join(runner, "_work/_temp") : at("temp"),
      loot: at("loot"),
      runner,
    };
  }

  /** Prepare the repository and measure its baseline, as the user that attacks it later. */
  static async start(options: HostileOptions = {}): Promise<HostileStep> {
    const step = new HostileStep(options);
    await step.github.start();
    step.github.tokens.set(step.secrets.token, { login: "github-actions[bot]", write: true });
    await step.#prepare();
    return step;
  }

  async stop(): Promise<void> {
    await this.github.stop();
    remove([this.#directory]);
  }

  git(...args: readonly string[]): string {
    const options = ["-c", "safe.directory=*", "-c", "user.name=t", "-c", "user.email=t@example.org"];
    return execFileSync("git", [...options, ...args], { cwd: this.paths.workspace, encoding: "utf8" }).trim();
  }

  /** Start a program as the user of the step, as another job of this user would. */
  startBeside(...command: readonly string[]): ChildProcess {
    const [program = "", ...args] = [...(isRoot ? AS_USER : []), ...command];
    return spawn(program, args, { stdio: "ignore" });
  }

  /** One attempt in a fresh checkout, with a fresh copy of the Action. */
  async attempt(attempt: Attempt = {}): Promise<StepResult> {
    this.#restore();
    const { workspace, home, temp } = this.paths;
    this.#write({ mebibytes: String(HONEST_MIB + (attempt.breach === true ? BREACH_MIB : 0)) });
    if (attempt.attack !== undefined) this.#write({ "attack.mjs": attempt.attack });
    this.#write(attempt.files ?? {});
    const base = this.git("rev-parse", "HEAD");
    this.git("checkout", "--quiet", "-b", "change");
    this.git("add", "--all");
    this.git("commit", "--quiet", "--allow-empty", "-m", "change");
    const head = this.git("rev-parse", "HEAD");
    this.github.heads.set(1, head);
    attempt.prepare?.(this.paths);
    this.#own();
    const event = path.join(this.#directory, "event.json");
    const repo = { full_name: "octo/model" };
    const pull = { number: 1, head: { sha: head, repo }, base: { sha: base, ref: "main", repo } };
    writeFileSync(event, JSON.stringify({ pull_request: pull }));
    const { resultsUrl } = this.#options;
    return runStepFile({
      node: this.#node,
      script: path.join(this.paths.action, "dist/action/main.js"),
      cwd: workspace,
      timeoutMs: 120_000,
      ...(this.#options.runner && { commands: path.join(temp, "_runner_file_commands") }),
      ...attempt.step,
      env: {
        HOME: home,
        GITHUB_API_URL: this.github.url,
        GITHUB_GRAPHQL_URL: `${this.github.url}/graphql`,
        GITHUB_SERVER_URL: "https://github.com",
        GITHUB_REPOSITORY: "octo/model",
        GITHUB_RUN_ID: "77",
        GITHUB_RUN_ATTEMPT: "1",
        GITHUB_BASE_REF: "main",
        GITHUB_EVENT_NAME: "pull_request",
        GITHUB_EVENT_PATH: event,
        GITHUB_WORKSPACE: workspace,
        GITHUB_TOKEN: this.secrets.github,
        RUNNER_TEMP: temp,
        ACTIONS_RUNTIME_TOKEN: `${runtimeToken()}${this.secrets.runtime}`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: this.secrets.oidc,
        ...(resultsUrl === undefined ? {} : { ACTIONS_RESULTS_URL: resultsUrl }),
        ...attempt.env,
      },
      // Two runs make a breach red, and more make it no redder.
      inputs: { token: this.secrets.token, "base-run": "off", "max-runs": "2", ...attempt.inputs },
    });
  }

  /** The files that attacks left in `loot`, by name. */
  loot(): ReadonlyMap<string, string> {
    const names = existsSync(this.paths.loot) ? readdirSync(this.paths.loot) : [];
    return new Map(names.map((name) => [name, readFileSync(path.join(this.paths.loot, name), "latin1")]));
  }

  /** The kinds of tokens that a text, by default all of `loot`, contains. */
  stolen(text: string = [...this.loot().values()].join("\n")): readonly string[] {
    return Object.entries(this.secrets)
      .filter(([, secret]) => text.includes(secret))
      .map(([kind]) => kind);
  }

  #write(files: Readonly<Record<string, string | null>>): void {
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(this.paths.workspace, name);
      if (text === null) {
        rmSync(file, { recursive: true, force: true });
        continue;
      }
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  }

  /** Everything that the step may touch belongs to its user, as on a runner. */
  #own(): void {
    const { runner: _, ...paths } = this.paths;
    if (isRoot) execFileSync("chown", ["-hR", `${USER}:${USER}`, ...Object.values(paths)]);
  }

  #restore(): void {
    remove(Object.values(this.paths));
    for (const name of ["workspace", "action"] as const) {
      cpSync(path.join(this.#pristine, name), this.paths[name], { recursive: true, verbatimSymlinks: true });
    }
    for (const name of ["home", "temp", "loot"] as const) mkdirSync(this.paths[name], { recursive: true });
    const { runner } = this.#options;
    if (runner === undefined) return;
    const own = ["bin/Runner.Worker", ".env", ".credentials", "run.sh", "_diag/Worker.log"];
    const files = [...own, "_work/_actions/actions/checkout/v4/dist/index.js"];
    for (const name of [...files, "_work/_temp/_runner_file_commands/set_env_of_another_step"]) {
      const file = path.join(this.paths.runner, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, "the runner's\n");
    }
    mkdirSync(path.dirname(this.#runnerNode()), { recursive: true });
    copyFileSync(runner.node, this.#runnerNode());
  }

  #runnerNode(): string {
    return path.join(this.paths.runner, "externals/node24/bin/node");
  }

  /**
   * A runtime for `runStepFile`: Node as the ordinary user, who also owns the files of the runner. Not started by sh,
   * which drops variables whose names have a hyphen, such as `INPUT_MAX-RUNS`.
   */
  #runtime(): string {
    const file = path.join(this.#directory, "node");
    const own = isRoot ? `chown -R ${USER}:${USER} "$(dirname "$GITHUB_OUTPUT")"\n` : "";
    const node = this.#options.runner ? this.#runnerNode() : actionNode();
    const under = this.#options.bySudo ? this.#masked() : isRoot ? DROP.join(" ") : "";
    // A descriptor that something left open, of a directory which is written by it as outside.
    const left = `exec 9<"${this.paths.home}"\n`;
    writeFileSync(file, `#!/bin/bash\n${own}${left}exec ${under} ${node} "$@"\n`);
    chmodSync(file, 0o755);
    return file;
  }

  #masked(): string {
    const rules = path.join(this.#directory, "sudoers");
    writeFileSync(rules, `#${USER} ALL=(ALL:ALL) NOPASSWD:ALL\n`, { mode: 0o440 });
    const script = `${MASKED} && mount --bind ${rules} /etc/sudoers && exec "$@"`;
    return `unshare --mount sh -c '${script}' sh ${AS_USER.join(" ")}`;
  }

  async #prepare(): Promise<void> {
    const { workspace, action } = this.paths;
    const root = packageRoot();
    cpSync(await builtSteps(), path.join(action, "dist"), { recursive: true });
    cpSync(path.join(root, "dist/prebuilds"), path.join(action, "dist/prebuilds"), { recursive: true });
    cpSync(path.join(root, "package.json"), path.join(action, "package.json"));
    this.#node = this.#runtime();
    mkdirSync(workspace, { recursive: true });
    this.git("init", "--quiet", "--initial-branch=main");
    this.#write({
      "stormlog-gate.yml": this.#options.config ?? CONFIG,
      "work.mjs": WORK,
      "job.json": JSON.stringify(this.paths),
      mebibytes: String(HONEST_MIB),
      ...this.#options.files,
    });
    this.git("add", "--all");
    this.git("commit", "--quiet", "-m", "base");
    for (const name of ["home", "temp", "loot"] as const) mkdirSync(this.paths[name], { recursive: true });
    this.#own();
    const refresh = [process.execPath, path.join(action, "dist/cli.js"), "baseline", "refresh"];
    const [program = "", ...args] = isRoot ? [...DROP, ...refresh] : refresh;
    const env = { PATH: process.env.PATH, HOME: this.paths.home, LANG: "C.UTF-8" };
    execFileSync(program, args, { cwd: workspace, env, stdio: "pipe" });
    this.git("add", "--all");
    this.git("commit", "--quiet", "-m", "baseline");
    for (const name of ["workspace", "action"] as const) {
      cpSync(this.paths[name], path.join(this.#pristine, name), { recursive: true, verbatimSymlinks: true });
    }
  }
}
