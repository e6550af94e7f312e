import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { GitDataDouble } from "../../test/action/testing/double/git-data.ts";
import { HistoryDouble } from "../../test/action/testing/double/history.ts";
import { Permissions } from "../../test/action/testing/double/permissions.ts";
import { repositoryRoutes } from "../../test/action/testing/double/repository.ts";
import { GitHubDouble } from "../../test/action/testing/github-double.ts";
import { Job } from "../../test/action/testing/job.ts";
import { runStepFile } from "../../test/action/testing/mini-runner.ts";
import { ResultsDouble } from "../../test/action/testing/results-double.ts";

const PULL_REQUEST = 7;
/** Appends its start and its end, in nanoseconds of the wall clock, to the file that it is given. */
const COMMAND = `date +%s%N >> "$0"; head -c 60000000 /dev/zero > /dev/null; sleep 1; date +%s%N >> "$0"`;

/** When each request came, in milliseconds of the wall clock. */
export interface Traffic {
  readonly artifacts: readonly number[];
  readonly pictures: readonly number[];
  readonly api: readonly number[];
}

export const now = (): number => performance.timeOrigin + performance.now();

/** A repository with a baseline, under the doubles of GitHub, whose pull request changes nothing that is measured. */
export class BenchRepository {
  readonly #github = new GitHubDouble();
  readonly #results = new ResultsDouble();
  readonly #pictures = new GitDataDouble();
  readonly #dist: string;
  readonly #node: string;
  #job: Job | undefined;
  #runs = 0;
  #traffic = { artifacts: [] as number[], pictures: [] as number[], api: [] as number[] };

  constructor(dist: string, node: string) {
    this.#dist = dist;
    this.#node = node;
  }

  get #workspace(): string {
    return path.join(this.#job?.directory ?? "", "workspace");
  }

  get timesFile(): string {
    return path.join(this.#job?.directory ?? "", "times");
  }

  #git(...args: string[]): string {
    const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    return execFileSync("git", [...identity, ...args], { cwd: this.#workspace, encoding: "utf8" }).trim();
  }

  async start(azurite: string): Promise<void> {
    this.#github.use(this.#pictures.routes).use(repositoryRoutes(false));
    this.#github.failure = ({ path: at }) => {
      this.#traffic[at.includes("/git/") ? "pictures" : "api"].push(now());
      return null;
    };
    this.#results.failure = () => {
      this.#traffic.artifacts.push(now());
      return null;
    };
    await this.#github.start();
    await this.#results.startWithBlobs(this.#node, azurite);
    this.#github.tokens.set("job", { login: "github-actions[bot]", write: true });
    this.#job = new Job(this.#github.url, this.#results.url);
    mkdirSync(this.#workspace);
    this.#github.use(new HistoryDouble(path.join(this.#workspace, ".git")).routes).use(new Permissions().routes);
    this.#git("init", "--quiet", "--initial-branch=main");
    const run = JSON.stringify(["sh", "-c", COMMAND, this.timesFile]);
    const config = `scenarios:\n  - name: train\n    run: ${run}\nbaseline: file:baselines\n`;
    writeFileSync(path.join(this.#workspace, "stormlog-gate.yml"), config);
    this.#commit("a program");
    const cli = path.join(this.#dist, "cli.js");
    execFileSync(process.execPath, [cli, "baseline", "refresh"], { cwd: this.#workspace, stdio: "pipe" });
    this.#commit("its baseline");
    this.#git("checkout", "--quiet", "-b", "change");
  }

  #commit(message: string): string {
    this.#git("add", "--all");
    this.#git("commit", "--quiet", "--allow-empty", "--message", message);
    return this.#git("rev-parse", "HEAD");
  }

  /** A push to the pull request, whose job is about to begin. */
  push(): void {
    const head = this.#commit(`push ${++this.#runs}`);
    this.#github.heads.set(PULL_REQUEST, head);
    this.#job?.pullRequest(PULL_REQUEST, head);
    this.#results.artifacts.length = 0;
    this.#traffic = { artifacts: [], pictures: [], api: [] };
    writeFileSync(this.timesFile, "");
  }

  async step(): Promise<void> {
    const env = { ...this.#job?.env, GITHUB_RUN_ID: String(1000 + this.#runs), GITHUB_WORKSPACE: this.#workspace };
    const result = await runStepFile({
      node: this.#node,
      script: path.join(this.#dist, "action/main.js"),
      cwd: this.#workspace,
      env: { ...env, GITHUB_BASE_REF: "main" },
      inputs: { token: "job", baseline: "file:baselines", scenario: "train" },
      timeoutMs: 240_000,
    });
    if (result.code !== 0) throw new Error(`the step failed: ${result.log.slice(-2000)}`);
  }

  traffic(): Traffic {
    return this.#traffic;
  }

  /** What the doubles did not expect. */
  get faults(): readonly string[] {
    return [...this.#github.faults, ...this.#results.faults];
  }

  async stop(): Promise<void> {
    await this.#github.stop();
    await this.#results.stop();
    this.#pictures.dispose();
    this.#job?.remove();
  }
}
