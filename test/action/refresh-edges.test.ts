import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseBaselineRecord } from "../../src/baseline/record.ts";
import { livingWith } from "../measure/kit.ts";
import type { StepResult } from "./testing/mini-runner.ts";
import { NightlyRepository, REF } from "./testing/nightly-repository.ts";

/** GitHub's answer during its outage. With 503 the client retries for a minute, so that only a soak uses it. */
const STATUS = process.env.STORMLOG_TEST_REFRESH_TRIES === undefined ? 401 : 503;

const warnings = (result: StepResult): string[] =>
  result.commands.filter(({ command }) => command === "warning").map(({ message }) => message);

describe.skipIf(process.platform !== "linux")("a refresh under unusual conditions", () => {
  const here = new NightlyRepository();
  const { github, git, nightly } = here;

  beforeAll(() => here.start(), 90_000);
  afterAll(async () => {
    await here.stop();
    expect(github.faults).toEqual([]);
  });

  it("a refresh is refused on a pull request, another branch, an unprotected branch and a fork, before it measures", async () => {
    const pull = await here.refresh({}, { GITHUB_EVENT_NAME: "pull_request" });
    expect(pull.code).toBe(2);
    const expected = [{ command: "add-mask" }, { command: "error", message: expect.stringContaining("pull_request") }];
    expect(pull.commands).toMatchObject(expected);
    const branch = await here.refresh({}, { GITHUB_REF: "refs/heads/topic" });
    expect([branch.code, branch.log]).toEqual([2, expect.stringContaining('the default branch "main"')]);
    nightly.protected = false;
    const open = await here.refresh();
    nightly.protected = true;
    expect([open.code, open.log]).toEqual([2, expect.stringContaining("is not protected")]);
    nightly.fork = true;
    const fork = await here.refresh();
    nightly.fork = false;
    expect([fork.code, fork.log]).toEqual([2, expect.stringContaining("is a fork")]);
    expect(() => git.git("rev-parse", REF)).toThrow();
  }, 60_000);

  it("a refresh with a read-only token keeps its evidence and warns once per missing write", async () => {
    const result = await here.refresh({ token: "readonly", runs: "1" });
    expect(result.code, result.log).toBe(1);
    expect(() => git.git("rev-parse", REF)).toThrow();
    const bundle = result.outputs["bundle-path"] ?? "";
    expect(JSON.parse(readFileSync(path.join(bundle, "manifest.json"), "utf8"))).toMatchObject({ complete: true });
    const shown = warnings(result);
    expect(shown.filter((message) => message.includes("could not be stored"))).toHaveLength(1);
    expect(shown.filter((message) => message.includes("history and badge"))).toHaveLength(1);
    expect(shown.join("\n")).toContain("contents: write");
    expect(new Set(shown).size).toBe(shown.length);
  }, 60_000);

  it("a refresh during an outage of GitHub's API measures, and warns once per failure", async () => {
    const event = path.join(here.job.directory, "event.json");
    writeFileSync(event, JSON.stringify({ repository: { default_branch: "main", fork: false } }));
    const away = { GITHUB_EVENT_PATH: event, GITHUB_REF_PROTECTED: "true" };
    github.failure = () => ({ kind: "status", status: STATUS });
    const result = await here.refresh({ runs: "1" }, away);
    github.failure = () => null;
    expect(result.code, result.log).toBe(1);
    expect(result.outputs).toMatchObject({ verdict: "unjudged", approved: "false" });
    const shown = warnings(result);
    for (const what of ["ask for the default branch", "could not be stored", "history and badge"]) {
      expect(
        shown.filter((message) => message.includes(what)),
        what,
      ).toHaveLength(1);
    }
  }, 300_000);

  it("a cancelled refresh ends in time, tries to upload its evidence and stores nothing", async () => {
    const running = path.join(here.job.directory, "running");
    const run = `trap '' INT TERM; : > ${running}; while :; do sleep 0.2; done`;
    const before = git.git("for-each-ref", "refs/stormlog");
    const cancelled = await here.refresh(
      { run, scenario: "stuck" },
      {},
      {
        clock: 0.5,
        cancel: async () => {
          while (!existsSync(running)) await new Promise((resolve) => setTimeout(resolve, 50));
        },
      },
    );
    expect(cancelled.code, cancelled.log).toBe(130);
    expect(cancelled.signals).not.toContain("SIGKILL");
    expect(livingWith(running)).toEqual([]);
    expect(existsSync(path.join(cancelled.outputs["bundle-path"] ?? "", "manifest.json"))).toBe(true);
    expect(warnings(cancelled).filter((message) => message.includes("upload the evidence bundle"))).toHaveLength(1);
    expect(git.git("for-each-ref", "refs/stormlog")).toBe(before);
  }, 60_000);

  it("a refresh of a file store proposes its records in one pull request until it is merged", async () => {
    const inputs = { baseline: "file:baselines", save: "pull-request", runs: "1", probe: "auto", composition: "true" };
    const first = await here.refresh(inputs);
    expect(first.code, first.log).toBe(0);
    // The next job begins with a fresh clone.
    rmSync(path.join(here.workspace, "baselines"), { recursive: true });
    const byHand = { ...inputs, accept: "a larger model" };
    expect((await here.refresh(byHand)).code).toBe(2);
    const second = await here.refresh(byHand, { GITHUB_EVENT_NAME: "workflow_dispatch" });
    expect(second.code, second.log).toBe(0);
    expect(nightly.proposals).toMatchObject([{ state: "open", title: "Memory baselines of the main branch" }]);
    const branch = "refs/heads/stormlog/baselines-default";
    const names = git.git("ls-tree", "-r", "--name-only", branch).split("\n");
    const name = names.find((one) => one.startsWith("baselines/train/")) ?? "";
    const record = parseBaselineRecord(JSON.parse(git.git("show", `${branch}:${name}`)), name);
    expect(record.epochs.map(({ reason, runs }) => [reason, runs.length])).toEqual([
      ["refresh", 1],
      ["a larger model", 1],
    ]);
    const peak = JSON.parse(git.git("show", `${branch}:${name.replace(/json$/, "peak.json")}`)) as { opened: string };
    expect(peak.opened).toBe(record.epochs[1]?.opened);
    expect(names).toContain("work.cjs");
  }, 90_000);

  it("read-mode reports whether the gate blocks", async () => {
    const measured = await here.refresh({ mode: "advisory" });
    expect(measured.code, measured.log).toBe(0);
    const answer = await here.refresh(
      { "read-mode": "true", token: "readonly" },
      { GITHUB_EVENT_NAME: "pull_request" },
    );
    expect([answer.code, answer.outputs]).toEqual([0, { mode: "advisory", "fail-on": "never" }]);
    const unknown = await here.refresh(
      { "read-mode": "true", "gate-id": "other" },
      { GITHUB_EVENT_NAME: "pull_request" },
    );
    expect(unknown.outputs).toEqual({ mode: "blocking", "fail-on": "regression" });
  }, 60_000);
});
