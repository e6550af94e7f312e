import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BrokenBlobs, uploadAnswer } from "./testing/broken-blobs.ts";
import { builtSteps } from "./testing/build-steps.ts";
import { GitHubDouble } from "./testing/github-double.ts";
import type { Failure, Request } from "./testing/http.ts";
import { type Launched, Launcher } from "./testing/launched.ts";
import { ResultsDouble } from "./testing/results-double.ts";
import { SelfSigned } from "./testing/self-signed.ts";
import { actionNode } from "./testing/tools.ts";

const _ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = await builtSteps();
const BOT = "github-actions[bot]";

/** The clock of a step that only waits runs this much faster: its deadline of 30 s for a comment is over in 7.5 s. */
const CLOCK = 4;
/** Steps that run at once. Of six on a busy machine some had no answer before their deadline. */
const AT_ONCE = 4;

const tls = await SelfSigned.start();

interface Case {
  readonly name: string;
  /** What the double does with each request of this case; `at` counts them. */
  readonly failure: (request: Request, at: number) => Failure | null;
  /** Address that is given instead of the double's. */
  readonly apiUrl?: (double: string) => string;
  /** Text of the one warning; null = there is none, and the comment is written. */
  readonly warning: RegExp | null;
  /** The step waits for its deadline. */
  readonly waits?: true;
  /** Skipped where the machine does not have this program. */
  readonly needs?: "openssl";
}

const status = (code: number, message: string, headers: Record<string, string> = {}): Failure => ({
  kind: "status",
  status: code,
  message,
  headers,
});
const onWrite =
  (failure: Failure): Case["failure"] =>
  ({ method }) =>
    method === "GET" ? null : failure;
const always = (failure: Failure) => (): Failure => failure;

const SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
const NEEDS = /permissions: pull-requests: write/;

/** One line without a program's internals, and what the reader has instead. */
const READABLE =
  /^Could not (?!.*(undefined|is not a function|Cannot (read|use)))[ -~…]+ The verdict is unaffected\. [ -~]+\.$/;

const CASES: readonly Case[] = [
  { name: "401", failure: always(status(401, "Bad credentials")), warning: /token was refused \(401\)/ },
  {
    name: "403 to a token that may only read",
    failure: onWrite(status(403, "Resource not accessible by integration")),
    warning: NEEDS,
  },
  {
    name: "403 for a secondary limit that is over in a second",
    failure: ({ method }, at) => (method === "POST" && at < 3 ? status(403, SECONDARY, { "retry-after": "1" }) : null),
    warning: null,
  },
  {
    name: "403 for a secondary limit of an hour",
    failure: onWrite(status(403, SECONDARY, { "retry-after": "3600" })),
    warning: /rate limit/,
  },
  {
    name: "403 for the hour's quota of requests",
    failure: always(
      status(403, "API rate limit exceeded for installation ID 1.", {
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": String(Math.floor(Date.now() / 1000) + 3000),
      }),
    ),
    warning: /rate limit/,
  },
  { name: "429", failure: onWrite(status(429, "Too many", { "retry-after": "600" })), warning: /rate limit/ },
  { name: "404", failure: always(status(404, "Not Found")), warning: NEEDS },
  { name: "409", failure: onWrite(status(409, "Conflict")), warning: /\(409\)/ },
  { name: "410 for a locked conversation", failure: onWrite(status(410, "Gone")), warning: /\(410\)/ },
  { name: "422", failure: onWrite(status(422, "Validation Failed")), warning: /refused the content \(422\)/ },
  { name: "500", failure: always(status(500, "Server Error")), warning: /GitHub failed \(500\)/ },
  {
    name: "502 with a page of HTML",
    failure: always({ kind: "text", status: 502, type: "text/html", text: "<html>\n::error::Unicorn!\n</html>" }),
    warning: /GitHub failed \(502\)/,
  },
  { name: "500 once", failure: (_request, at) => (at < 1 ? status(500, "Oops") : null), warning: null },
  { name: "answers that take a second each", failure: always({ kind: "late", ms: 1000 }), warning: null },
  { name: "no answer", failure: always({ kind: "hang" }), warning: /within 30 s/, waits: true },
  { name: "an answer that trickles", failure: always({ kind: "trickle" }), warning: /within 30 s/, waits: true },
  { name: "an answer cut in its body", failure: always({ kind: "cut" }), warning: /could not be reached: .*closed/ },
  {
    name: "an answer cut when half of it is here",
    failure: always({ kind: "cut", late: true }),
    warning: /could not be reached: .*(closed|aborted|terminated)/,
  },
  {
    name: "a write's answer cut in its body",
    failure: onWrite({ kind: "cut" }),
    warning: /could not be reached: .*closed/,
  },
  {
    name: "malformed JSON",
    failure: always({ kind: "text", text: '[{"id": 1, "body": nonsense' }),
    warning: /not valid JSON/,
  },
  {
    name: "JSON of another kind",
    failure: always({ kind: "text", text: '{"ok": true, "comments": "none"}' }),
    warning: /answer is not a comment/,
  },
  {
    name: "a page of a portal",
    failure: always({ kind: "text", text: "<html>Log in", type: "text/html" }),
    warning: /not JSON but text\/html/,
  },
  { name: "an answer without an end", failure: always({ kind: "endless" }), warning: /larger than 64 MiB/ },
  {
    name: "a name that does not resolve",
    failure: always({ kind: "hang" }),
    apiUrl: () => "http://github.invalid",
    warning: /could not be reached: getaddrinfo \w+ github\.invalid/,
  },
  {
    name: "a plain connection where TLS is expected",
    failure: always({ kind: "hang" }),
    apiUrl: (double) => double.replace("http:", "https:"),
    warning: /could not be reached: .*(SSL|ssl|wrong version)/,
  },
  {
    name: "a self-signed certificate",
    failure: always({ kind: "hang" }),
    apiUrl: () => tls?.url ?? "",
    warning: /could not be reached: self-signed certificate/,
    needs: "openssl",
  },
];

const node = actionNode();

describe("GitHub's API fails", () => {
  const github = new GitHubDouble();
  const results = new ResultsDouble();
  let blobs: BrokenBlobs;
  const launcher = new Launcher(node, path.join(BUILT, "action/prepared.js"), AT_ONCE);
  const runs = new Map<string, Promise<Launched>>();
  const tokenOf = (at: number): string => `canary-token-${at}-${"x".repeat(20)}`;

  beforeAll(async () => {
    await github.start();
    await results.start();
    blobs = await BrokenBlobs.start();
    results.failure = (request) => uploadAnswer(request, blobs, "ok");
    const counts = new Map<string, number>();
    github.failure = (request) => {
      const token = request.authorization.replace(/^\w+ /, "");
      const at = counts.get(token) ?? 0;
      counts.set(token, at + 1);
      return CASES.find((_one, n) => tokenOf(n) === token)?.failure(request, at) ?? null;
    };
    for (const [at, { name, apiUrl, needs, waits = false }] of CASES.entries()) {
      if (needs === "openssl" && tls === null) continue;
      github.tokens.set(tokenOf(at), { login: BOT, write: true });
      const launch = {
        apiUrl: apiUrl?.(github.url) ?? github.url,
        resultsUrl: results.url,
        pullRequest: at + 1,
        clock: waits ? CLOCK : 1,
        token: tokenOf(at),
        inputs: { "artifact-name": `case-${at}` },
      };
      runs.set(name, launcher.run(launch));
    }
  });

  afterAll(async () => {
    await Promise.allSettled(runs.values());
    await github.stop();
    await results.stop();
    blobs.stop();
    tls?.stop();
    launcher.remove();
    expect([...github.faults, ...results.faults]).toEqual([]);
  });

  it.each(CASES.map((one, at) => ({ ...one, at })))(
    "the verdict is kept when GitHub's API fails: $name",
    async ({ name, warning, at }) => {
      const { result } = (await runs.get(name)) as Launched;
      expect(result, result.log).toMatchObject({ code: 4, outputs: { verdict: "fail", "exit-code": "4" } });
      expect(result.outputs["artifact-url"]).not.toBe("");
      expect(result.summary).toContain("### ❌ Memory: ");
      const failed = result.commands.filter(
        ({ command, message }) => command === "warning" && /^Could not/.test(message),
      );
      const comments = github.comments.filter(({ issue }) => issue === at + 1);
      if (warning === null) {
        expect(failed).toEqual([]);
        expect(comments).toHaveLength(1);
        expect(result.outputs["comment-url"]).not.toBe("");
      } else {
        expect(failed.map(({ message }) => message)).toEqual([expect.stringMatching(warning)]);
        expect(failed[0]?.message).toMatch(READABLE);
        expect(result.outputs["comment-url"]).toBe("");
        // The summary has the warning too.
        expect(result.summary).toContain("Could not update the pull request comment");
      }
      expect(result.commands.filter(({ command }) => command === "warning" || command === "error").length).toBeLessThan(
        12,
      );
      expect(result.log).not.toMatch(/^\s+at /m);
      expect(result.log.replace(/^::add-mask::.*$/gm, "")).not.toContain(tokenOf(at));
    },
    90_000,
  );
});
