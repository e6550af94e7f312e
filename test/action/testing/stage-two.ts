import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { getOctokit } from "@actions/github";
import { asGateError } from "../../../src/actions/gate-error.ts";
import { report } from "../../../src/actions/report/report.ts";
import { runContext } from "../../../src/github/api/run-context.ts";
import { ActionsDouble, type DoubleRun } from "./double/actions.ts";
import { Permissions } from "./double/permissions.ts";
import { openPull, pullLookup } from "./double/pull-lookup.ts";
import { GitHubDouble } from "./github-double.ts";
import { HEAD } from "./sample-section.ts";

const BOT = "github-actions[bot]";
export const FORK = "mallory/model";
/** The fork's run in most tests, and the run of the repository that reports it. */
export const FORK_RUN = 501;
const REPORT_RUN = 900;

export interface Posted {
  readonly code: number;
  readonly outputs: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  readonly logs: readonly string[];
  readonly error: string | null;
}

/**
 * The second stage for a fork's run: GitHub's doubles with an open pull request of a fork and its finished run, and
 * the report with a real client over a real connection. The report runs in this process and its client does not
 * pause; the built step has separate tests.
 */
export class StageTwo {
  readonly github = new GitHubDouble();
  readonly actions = new ActionsDouble();
  readonly people = new Permissions();
  readonly #directory = mkdtempSync(path.join(tmpdir(), "stormlog-stage-two-"));

  async start(): Promise<this> {
    this.github.use(this.actions.routes).use(pullLookup(this.github)).use(this.people.routes);
    await this.github.start();
    await this.actions.store.start();
    this.github.tokens.set("report", { login: BOT, write: true });
    this.github.tokens.set("readonly", { login: BOT, write: false });
    return this;
  }

  /** Reset to the start. Servers and compiled schemas stay, because they take time. */
  reset(): void {
    const { github, actions } = this;
    github.failure = () => null;
    actions.store.failure = () => null;
    github.comments.length = 0;
    github.pulls.all.clear();
    actions.clear();
    for (const list of [github.requests, github.faults, actions.store.requests, actions.store.faults]) list.length = 0;
  }

  async stop(): Promise<void> {
    rmSync(this.#directory, { recursive: true, force: true });
    await this.github.stop();
    await this.actions.store.stop();
  }

  /** The normal state: pull request 12 of a fork, and its run, which recorded a failure. */
  fork(run: Partial<DoubleRun> = {}): this {
    openPull(this.github, { number: 12, headSha: HEAD, headRepo: FORK, headRef: "topic" });
    this.actions.addRun({
      id: FORK_RUN,
      event: "pull_request",
      headSha: HEAD,
      headBranch: "topic",
      headRepo: FORK,
      conclusion: "failure",
      jobs: ["failure", "success"],
      ...run,
    });
    return this;
  }

  /** Errors of the doubles: requests or answers that GitHub's description does not allow. */
  get faults(): readonly string[] {
    return [...this.github.faults, ...this.actions.store.faults];
  }

  env(
    event: object = { action: "completed", workflow_run: { id: FORK_RUN } },
    name = "workflow_run",
  ): Record<string, string> {
    const file = path.join(this.#directory, "event.json");
    writeFileSync(file, JSON.stringify(event));
    return {
      GITHUB_API_URL: this.github.url,
      GITHUB_GRAPHQL_URL: `${this.github.url}/graphql`,
      GITHUB_SERVER_URL: "https://github.com",
      GITHUB_REPOSITORY: "octo/model",
      GITHUB_RUN_ID: String(REPORT_RUN),
      GITHUB_RUN_ATTEMPT: "1",
      GITHUB_EVENT_NAME: name,
      GITHUB_EVENT_PATH: file,
      RUNNER_TEMP: this.#directory,
    };
  }

  /** Post, in this process. */
  async post(
    inputs: Readonly<Record<string, string>> = {},
    given: Record<string, string> = this.env(),
  ): Promise<Posted> {
    const all: Record<string, string> = { token: "report", image: "none", ...inputs };
    const outputs: Record<string, string> = {};
    const warnings: string[] = [];
    const logs: string[] = [];
    const { owner, repo, ...rest } = runContext(given);
    const context = { ...rest, owner: owner ?? "", repo: repo ?? "" };
    const { signal } = new AbortController();
    const log = (line: string): void => void logs.push(line);
    // Without the plugin that keeps the writes of a process a second apart: many reports share this one.
    const octokit = getOctokit(all.token ?? "", { baseUrl: this.github.url });
    try {
      const code = await report({
        input: (name) => all[name],
        env: given,
        context,
        octokit,
        signal,
        log,
        warn: (line) => void warnings.push(line),
        setOutput: (name, value) => {
          outputs[name] = value;
        },
      });
      return { code, outputs, warnings, logs, error: null };
    } catch (cause) {
      const error = asGateError(cause);
      return { code: error.exitCode, outputs, warnings, logs, error: error.code };
    }
  }

  /** Text of the only comment on pull request 12; fails when there is another one anywhere. */
  get comment(): string | null {
    const [first, ...more] = this.github.comments;
    if (more.length > 0 || (first !== undefined && first.issue !== 12)) throw new Error("comments where none belong");
    return first?.body ?? null;
  }
}
