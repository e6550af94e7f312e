import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { getOctokit } from "@actions/github";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { accept } from "../../../src/actions/accept/accept.ts";
import { asGateError } from "../../../src/actions/gate-error.ts";
import type { SubAction } from "../../../src/actions/sub-action.ts";
import { runContext } from "../../../src/github/api/run-context.ts";
import { sampleReport } from "../../../src/report/testing/sample-report.ts";
import { ActionsDouble } from "./double/actions.ts";
import { Permissions, type Role } from "./double/permissions.ts";
import { openPull } from "./double/pull-lookup.ts";
import { Reruns } from "./double/reruns.ts";
import { GitHubDouble } from "./github-double.ts";
import { HEAD, SECTION, sectionBytes } from "./sample-section.ts";

/** The accept sub-action with a real client over a real connection that checks every request and answer. */

export const PR = 12;
export const RUN = 501;
const BOT = "github-actions[bot]";
export const TOKEN = "3f9a2c1d04be-dapb187";
export const LARGER = "3f9a2c1d04be-dapb199";
export const POLICY = "0123456789ab-policy";
/** Of a run under way that ends after some polls. */
const PATIENCE = { pollMs: 5, maxMs: 60_000 };
export const SAY = `/stormlog accept ${TOKEN} larger cache`;

export const github = new GitHubDouble();
export const actions = new ActionsDouble();
export const people = new Permissions();
export const reruns = new Reruns(actions);
const directory = mkdtempSync(path.join(tmpdir(), "stormlog-accept-"));

beforeAll(async () => {
  github.use(reruns.routes).use(actions.routes).use(people.routes);
  github.graphQl = (query) =>
    query.includes("pullRequest(") ? { data: { repository: { pullRequest: { lastEditedAt: null } } } } : null;
  await github.start();
  await actions.store.start();
  github.tokens.set("job", { login: BOT, write: true });
  github.tokens.set("readonly", { login: BOT, write: false });
});

afterAll(async () => {
  await github.stop();
  await actions.store.stop();
  rmSync(directory, { recursive: true, force: true });
});

beforeEach(() => {
  github.failure = () => null;
  for (const list of [github.comments, github.requests, github.faults, people.reactions, reruns.started])
    list.length = 0;
  github.pulls.all.clear();
  people.roles.clear();
  people.events.clear();
  for (const role of ["read", "write"] satisfies Role[]) people.roles.set(role, role);
  openPull(github, { number: PR, headSha: HEAD });
  actions.runs.clear();
  actions.artifacts.length = 0;
  gateRun(TOKEN);
});

/** A run of the gate that found a difference. */
export function gateRun(
  difference: string | null,
  parts: {
    readonly id?: number;
    readonly conclusion?: string | null;
    readonly policy?: string;
    readonly jobs?: readonly string[];
  } = {},
) {
  const { id = RUN, conclusion = "failure", policy, jobs = ["success"] } = parts;
  const head = { headSha: HEAD, headBranch: "topic", headRepo: "octo/model" };
  actions.addRun({ id, event: "pull_request", ...head, conclusion, jobs });
  actions.addArtifact(id, SECTION, sectionBytes({ report: reportOf(difference, policy) }));
}

export function reportOf(difference: string | null, policy?: string) {
  const report = sampleReport("fail", policy === undefined ? {} : { policy_difference: policy });
  const scenarios = report.scenarios.map((one) => ({ ...one, ...(difference === null ? {} : { difference }) }));
  return { ...report, scenarios };
}

export interface Done {
  readonly code: number;
  readonly outputs: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  readonly logs: readonly string[];
}

export async function step(
  name: string,
  event: object,
  inputs: Readonly<Record<string, string>> = {},
  patience = PATIENCE,
): Promise<Done> {
  const file = path.join(directory, "event.json");
  writeFileSync(file, JSON.stringify(event));
  const env = {
    GITHUB_API_URL: github.url,
    GITHUB_REPOSITORY: "octo/model",
    GITHUB_RUN_ID: "900",
    GITHUB_EVENT_NAME: name,
    GITHUB_EVENT_PATH: file,
  };
  const outputs: Record<string, string> = {};
  const warnings: string[] = [];
  const logs: string[] = [];
  const { owner, repo, ...rest } = runContext(env);
  const done = { outputs, warnings, logs };
  try {
    const action: SubAction = {
      input: (one) => inputs[one],
      env,
      context: { ...rest, owner: owner ?? "", repo: repo ?? "" },
      octokit: getOctokit(inputs.token ?? "job", { baseUrl: github.url }),
      signal: new AbortController().signal,
      log: (line) => void logs.push(line),
      warn: (line) => void warnings.push(line),
      setOutput: (one, value) => {
        outputs[one] = value;
      },
    };
    const code = await accept(action, patience);
    return { code, ...done };
  } catch (error) {
    return { code: asGateError(error).exitCode, ...done };
  } finally {
    expect(github.faults).toEqual([]);
  }
}

/** A user comments, and the event starts the step. */
export function comment(
  author: string,
  body: string,
  inputs: Readonly<Record<string, string>> = {},
  patience = PATIENCE,
): Promise<Done> {
  const { id } = github.addComment(PR, author, body, "2026-09-01T10:00:00Z");
  return step("issue_comment", commentEvent(id, body), inputs, patience);
}

export const commentEvent = (id: number, body: string, action = "created") => ({
  action,
  issue: { number: PR, pull_request: { url: "x" } },
  comment: { id, body, user: { login: "someone" } },
});

export const replies = (): readonly string[] =>
  github.comments.filter(({ author }) => author === BOT).map(({ body }) => body);
export const reactions = () => people.reactions.map(({ content }) => content);
export const writes = () => github.requests.filter(({ method }) => method !== "GET");
