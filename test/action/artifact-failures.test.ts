import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BlobMode, BrokenBlobs, uploadAnswer } from "./testing/broken-blobs.ts";
import { builtSteps } from "./testing/build-steps.ts";
import { GitHubDouble } from "./testing/github-double.ts";
import type { Failure, Request } from "./testing/http.ts";
import { type Launched, Launcher } from "./testing/launched.ts";
import { ResultsDouble, runtimeToken } from "./testing/results-double.ts";
import { actionNode } from "./testing/tools.ts";

const _ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = await builtSteps();

/**
 * How much faster the clock of a step runs that waits: its deadline of 60 s for an upload is over in 20 s. Retries wait
 * for up to 15 s each and half of that deadline in all, which then is not shorter than it is.
 */
const CLOCKS = {
  deadline: { clock: 3, env: {} },
  retries: { clock: 3, env: { STORMLOG_TEST_REAL_FROM_MS: "30000" } },
} as const;
/** Steps that run at once: most of a failure is waiting. */
const AT_ONCE = 4;

interface Case {
  readonly name: string;
  /** What the service does with each request; null = it works. */
  readonly failure?: (method: string, request: Request) => Failure | null;
  /** What the blob store does with the upload. */
  readonly blobs?: BlobMode;
  readonly env?: Readonly<Record<string, string>>;
  readonly warning: RegExp;
  /** What the step waits for, when it does. */
  readonly waits?: keyof typeof CLOCKS;
  /** The bundle is uploaded and only the timeline is missing. */
  readonly timelineOnly?: true;
}

const json = (value: unknown): Failure => ({ kind: "text", text: JSON.stringify(value) });
const refusal = (status: number, msg: string): Failure => ({
  kind: "text",
  status,
  text: JSON.stringify({ code: "x", msg }),
});
const always = (failure: Failure) => (): Failure => failure;
const nameOf = (request: Request): string => (request.body as { name?: string } | undefined)?.name ?? "";

/** One line with the location of the evidence and without the internals of a program or protocol. */
const READABLE = /^Could not (?!.*(undefined|is not a function|Twirp|<\?xml))[ -~…]+ It is on the runner in \S+$/;

const CASES: readonly Case[] = [
  { name: "no token of the service", env: { ACTIONS_RUNTIME_TOKEN: "" }, warning: /ACTIONS_RUNTIME_TOKEN/ },
  { name: "a malformed token", env: { ACTIONS_RUNTIME_TOKEN: "no-jwt" }, warning: /token/i },
  { name: "no address of the service", env: { ACTIONS_RESULTS_URL: "" }, warning: /ACTIONS_RESULTS_URL/ },
  {
    name: "a GitHub Enterprise Server",
    env: { GITHUB_SERVER_URL: "https://git.example.org" },
    warning: /Enterprise Server.*bundle-path/,
  },
  { name: "401", failure: always(refusal(401, "unauthenticated")), warning: /\(401\)/ },
  {
    name: "403 because the storage is full",
    failure: always(refusal(403, "insufficient usage to create artifact")),
    warning: /storage .* full/,
  },
  { name: "403", failure: always(refusal(403, "not allowed")), warning: /\(403\) Forbidden: not allowed/ },
  {
    name: "409 whatever the name",
    failure: always(refusal(409, "an artifact with this name already exists on the workflow run")),
    warning: /\(409\).*artifact-name/,
  },
  { name: "429", failure: always(refusal(429, "slow down")), warning: /\(429\)/, waits: "retries" },
  { name: "500", failure: always(refusal(500, "oops")), warning: /5 attempts.*\(500\)/, waits: "retries" },
  {
    name: "503",
    failure: always(refusal(503, "unavailable")),
    warning: /5 attempts.*\(503\)/,
    waits: "retries",
  },
  {
    name: "a page of HTML",
    failure: always({ kind: "text", text: "<html>", type: "text/html" }),
    warning: /not valid JSON/,
    waits: "retries",
  },
  { name: "no answer", failure: always({ kind: "hang" }), warning: /within 60 s/, waits: "deadline" },
  { name: "an answer cut", failure: always({ kind: "cut" }), warning: /ECONNRESET/, waits: "retries" },
  {
    name: "an answer cut half-way",
    failure: always({ kind: "cut", late: true }),
    warning: /within 60 s|ECONN|JSON/,
    waits: "retries",
  },
  {
    name: "a digest that differs",
    failure: (method) =>
      method === "FinalizeArtifact"
        ? refusal(400, "digest mismatch: the uploaded content does not match the hash")
        : null,
    warning: /digest mismatch/,
  },
  {
    name: "an upload that is not finalized",
    failure: (method) => (method === "FinalizeArtifact" ? json({ ok: false }) : null),
    warning: /response from backend was not ok/,
  },
  { name: "a store that refuses the upload", blobs: "refused", warning: /AuthenticationFailed/ },
  { name: "a store that fails", blobs: "failing", warning: /InternalError/, waits: "retries" },
  { name: "a store that takes everything and never answers", blobs: "hang", warning: /within 60 s/, waits: "deadline" },
  { name: "a store that hangs up", blobs: "cut", warning: /ECONNRESET|within 60 s/, waits: "retries" },
  {
    name: "a store that is gone in the middle",
    blobs: "down",
    warning: /ECONN|within 60 s/,
    waits: "retries",
  },
  {
    name: "a timeline that is refused",
    failure: (_method, request) => (/html$/.test(nameOf(request)) ? refusal(403, "not allowed") : null),
    warning: /timeline/,
    timelineOnly: true,
  },
];

describe("the artifact service fails", () => {
  const github = new GitHubDouble();
  const results = new ResultsDouble();
  const launcher = new Launcher(actionNode(), path.join(BUILT, "action/prepared.js"), AT_ONCE);
  const runs = new Map<string, Promise<Launched>>();
  const tokenOf = (at: number): string => `${runtimeToken()}-${at}`;
  let blobs: BrokenBlobs;

  beforeAll(async () => {
    await github.start();
    github.tokens.set("job", { login: "github-actions[bot]", write: true });
    await results.start();
    blobs = await BrokenBlobs.start();
    results.failure = (request) => {
      const token = request.authorization.replace(/^bearer /i, "");
      const one = CASES.find((_case, at) => tokenOf(at) === token);
      const method = request.path.slice(request.path.lastIndexOf("/") + 1);
      const failure = one?.failure?.(method, request) ?? null;
      return failure ?? uploadAnswer(request, blobs, one?.blobs ?? "ok");
    };
    for (const [at, { name, env, waits }] of CASES.entries()) {
      const launch = {
        apiUrl: github.url,
        resultsUrl: results.url,
        pullRequest: at + 1,
        clock: waits === undefined ? 1 : CLOCKS[waits].clock,
        token: "job",
        env: { ACTIONS_RUNTIME_TOKEN: tokenOf(at), ...(waits === undefined ? {} : CLOCKS[waits].env), ...env },
      };
      runs.set(name, launcher.run(launch));
    }
  });

  afterAll(async () => {
    await Promise.allSettled(runs.values());
    await github.stop();
    await results.stop();
    blobs.stop();
    launcher.remove();
    expect([...github.faults, ...results.faults]).toEqual([]);
  });

  it.each(CASES.map((one, at) => ({ ...one, at })))(
    "the verdict is kept when the artifact service fails: $name",
    async (one) => {
      const { name, warning, at, timelineOnly = false } = one;
      const { result, job } = (await runs.get(name)) as Launched;
      expect(result, result.log).toMatchObject({ code: 4, outputs: { verdict: "fail", "exit-code": "4" } });
      const failed = result.commands.filter(
        ({ command, message }) => command === "warning" && /^Could not/.test(message),
      );
      expect(failed.map(({ message }) => message)).toEqual([expect.stringMatching(warning)]);
      expect(failed[0]?.message).toMatch(timelineOnly ? /It is in the bundle\.$/ : READABLE);
      // The summary has the warning too, and the comment is written.
      expect(result.summary).toContain(timelineOnly ? "interactive timeline" : "Could not upload the evidence bundle");
      expect(github.comments.filter(({ issue }) => issue === at + 1)).toHaveLength(1);
      expect([result.outputs["artifact-id"] !== "", result.outputs["timeline-url"]]).toEqual([timelineOnly, ""]);
      // The evidence is in the directory of the outputs.
      expect(existsSync(path.join(result.outputs["bundle-path"] ?? "", "report.json"))).toBe(true);
      expect(result.outputs["bundle-path"]).toContain(job.directory);
      const shown = result.log.replace(/^::(add-mask|debug)::.*$/gm, "");
      for (const secret of ["canary-signature", tokenOf(at)]) expect(shown).not.toContain(secret);
    },
    100_000,
  );

  it("the bundle is uploaded without the files whose names the artifact service refuses", async () => {
    // Not behind the queue of the failures.
    const own = new Launcher(actionNode(), path.join(BUILT, "action/prepared.js"), 1);
    const { result } = await own.run({
      apiUrl: github.url,
      resultsUrl: results.url,
      pullRequest: CASES.length + 1,
      token: "job",
      env: { ACTIONS_RUNTIME_TOKEN: runtimeToken() },
      inputs: { run: "names" },
    });
    own.remove();
    expect(result.log).not.toContain("Could not upload");
    expect(result.outputs).toMatchObject({ "artifact-id": "501", verdict: "fail" });
  }, 100_000);
});
