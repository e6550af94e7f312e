import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { runtimeToken } from "./results-double.ts";

/** The parts of a job that its steps share: a temporary directory, the event, the addresses of GitHub. */
export class Job {
  readonly directory = mkdtempSync(path.join(tmpdir(), "stormlog-job-"));
  readonly env: Record<string, string>;

  constructor(apiUrl: string, resultsUrl: string | null) {
    mkdirSync(path.join(this.directory, "temp"));
    this.env = {
      GITHUB_API_URL: apiUrl,
      GITHUB_GRAPHQL_URL: `${apiUrl}/graphql`,
      GITHUB_SERVER_URL: "https://github.com",
      GITHUB_REPOSITORY: "octo/model",
      GITHUB_RUN_ID: "77",
      GITHUB_RUN_ATTEMPT: "1",
      GITHUB_RETENTION_DAYS: "90",
      RUNNER_TEMP: path.join(this.directory, "temp"),
      ...(resultsUrl === null ? {} : { ACTIONS_RESULTS_URL: resultsUrl, ACTIONS_RUNTIME_TOKEN: runtimeToken() }),
    };
  }

  /** The event of a push to a pull request. */
  pullRequest(number: number, headSha: string): this {
    const file = path.join(this.directory, "event.json");
    const repo = { full_name: "octo/model" };
    const base = { sha: "b".repeat(40), repo };
    writeFileSync(file, JSON.stringify({ pull_request: { number, head: { sha: headSha, repo }, base } }));
    Object.assign(this.env, { GITHUB_EVENT_NAME: "pull_request", GITHUB_EVENT_PATH: file });
    return this;
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
