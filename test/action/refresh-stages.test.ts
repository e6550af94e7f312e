import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { downloadSession, type SessionOwner, uploadSession } from "../../src/actions/refresh/session-artifact.ts";
import { storedPeak } from "../../src/attribution/peak/stored-peak.ts";
import { runContext } from "../../src/github/api/run-context.ts";
import type { ArtifactStore } from "../../src/github/artifacts/artifact.ts";
import { sampleReport } from "../../src/report/testing/sample-report.ts";
import { NightlyRepository, REF, workload } from "./testing/nightly-repository.ts";
import { ResultsDouble, runtimeToken } from "./testing/results-double.ts";
import { actionNode, azuriteBlobScript } from "./testing/tools.ts";

const azurite = azuriteBlobScript();

/** A session that one job measures and another one stores. */
describe.skipIf(process.platform !== "linux" || azurite === null)("a nightly run in two jobs", () => {
  const here = new NightlyRepository();
  const { github, git, nightly } = here;
  const results = new ResultsDouble();
  const marker = path.join(here.workspace, "..", "measured");
  /** The program says so where it ran. */
  const program = (mib: number): string =>
    `require("fs").writeFileSync(${JSON.stringify(marker)}, "");${workload(mib)}`;

  beforeAll(async () => {
    if (azurite === null) return;
    await results.startWithBlobs(actionNode(), azurite);
    await here.start();
    Object.assign(here.job.env, { ACTIONS_RESULTS_URL: results.url, ACTIONS_RUNTIME_TOKEN: runtimeToken() });
  }, 90_000);
  afterAll(async () => {
    await here.stop();
    await results.stop();
    expect([...github.faults, ...results.faults]).toEqual([]);
  });
  let night = 76;
  beforeEach(() => {
    // Each night is another run, and its session another session.
    night += 1;
    results.artifacts.length = 0;
    rmSync(marker, { force: true });
  });

  const stage = (name: "measure" | "write", env: Readonly<Record<string, string>> = {}) =>
    here.refresh(
      { stage: name, token: name === "measure" ? "readonly" : "job", probe: "auto", composition: "true" },
      { GITHUB_SHA: here.inClone("rev-parse", "HEAD"), GITHUB_RUN_ID: String(night), ...env },
    );
  const writes = () => github.requests.filter(({ method, path: asked }) => method !== "GET" && asked !== "/graphql");

  it("the job that runs the program writes nothing, and the one that stores its session runs nothing", async () => {
    here.change({ "work.cjs": program(64) }, "say where it ran");
    const measured = await stage("measure");
    expect(measured.code, measured.log).toBe(0);
    expect(existsSync(marker)).toBe(true);
    expect(writes()).toEqual([]);
    expect(git.git("for-each-ref", "refs/stormlog")).toBe("");
    rmSync(marker);
    const stored = await stage("write");
    expect(stored.code, stored.log).toBe(0);
    expect(existsSync(marker)).toBe(false);
    expect(stored.outputs).toMatchObject({ verdict: "unjudged", approved: "true" });
    expect(stored.outputs["artifact-url"]).toBe(measured.outputs["artifact-url"]);
    expect(here.approvals()).toEqual([[true, true, true, true, true]]);
    // What the peak consists of was measured by the one job, and is stored by the other as that of its epoch.
    const names = git.git("ls-tree", "-r", "--name-only", REF).split("\n");
    const peak = names.find((name) => name.endsWith(".peak.json")) ?? "";
    expect(names).toContain(peak.replace(".peak.json", ".json"));
    const composition = JSON.parse(here.onRef(peak)) as { opened: string; parts: [string, number, ...unknown[]][] };
    expect(composition.opened).toBe(here.record().epochs[0]?.opened);
    expect(composition.parts.length).toBeGreaterThan(0);
  }, 120_000);

  it("a breach leaves the measuring job green, fails the storing one and opens its issue", async () => {
    here.change({ "work.cjs": program(112) }, "hold more");
    const measured = await stage("measure");
    expect([measured.code, measured.outputs.verdict], measured.log).toEqual([0, "fail"]);
    const stored = await stage("write");
    expect([stored.code, stored.outputs.verdict], stored.log).toEqual([4, "fail"]);
    expect(here.approvals()[0]?.slice(5)).not.toContain(true);
    expect(nightly.issues.filter(({ state }) => state === "open")).toHaveLength(1);
  }, 120_000);

  it("a session that is missing or about another commit is not stored, and the step fails", async () => {
    const before = git.git("rev-parse", "refs/stormlog/baselines");
    const none = await stage("write");
    expect([none.code, none.log]).toEqual([1, expect.stringContaining("SESSION_MISSING")]);
    await stage("measure");
    const other = await stage("write", { GITHUB_SHA: "b".repeat(40) });
    expect([other.code, other.log]).toEqual([5, expect.stringContaining("another commit")]);
    expect(git.git("rev-parse", "refs/stormlog/baselines")).toBe(before);
  }, 120_000);
});

describe("a session that another job left", () => {
  const COMMIT = "c".repeat(40);
  const KEY = { opened: "2026-11-26T00:00:00Z", device: "host", metric: "allocated" } as const;
  const PEAK = storedPeak({ parts: [], unseen: null, inputs: { python: "3.12" } }, KEY);
  const OWNER: SessionOwner = { key: "default", commit: COMMIT, attempt: 2 };
  const scenarios = [{ name: "train-mlp" }] as never;

  /** The service with what a measuring job left, changed by an attack. */
  async function left(change: (text: string) => string = (text) => text, owner: Partial<SessionOwner> = {}) {
    const stored: { name: string; bytes: Buffer }[] = [];
    const store: ArtifactStore = {
      upload: async (name, [file = ""]) => {
        stored.push({ name, bytes: Buffer.from(change(readFileSync(file, "utf8"))) });
        return stored.length;
      },
      list: async () => stored.map(({ name, bytes }, at) => ({ id: at + 1, name, size: bytes.length, digest: null })),
      read: async ({ id }) => stored[id - 1]?.bytes ?? Buffer.alloc(0),
    };
    const report = sampleReport("fail");
    const scenario = report.scenarios.map((one) => ({
      ...one,
      runs: one.runs.map((run) => ({ ...run, info: { ...run.info, commit: COMMIT } })),
    }));
    await uploadSession(
      { store, context: runContext({}), retentionDays: null, deadline: { ms: 5000 } },
      scratch,
      { ...OWNER, attempt: 1, ...owner },
      {
        report: { ...report, scenarios: scenario },
        envelopes: new Map(),
        compositions: new Map([["train-mlp", PEAK]]),
        ...{ trials: [], notes: [], bundleArtifact: 999 },
      },
    );
    return { store, stored };
  }

  let scratch: string;
  beforeEach(() => {
    scratch = mkdtempSync(path.join(tmpdir(), "hand-over-"));
  });
  afterEach(() => rmSync(scratch, { recursive: true, force: true }));

  it("a session is read as it was left, without links out of its run", async () => {
    const { store } = await left();
    const session = await downloadSession(store, OWNER, { scenarios });
    expect(session).toMatchObject({ bundleArtifact: null, report: { verdict: "fail" } });
    expect([...session.compositions]).toEqual([["train-mlp", PEAK]]);
  });

  it.each<readonly [string, (text: string) => string, Partial<SessionOwner>, RegExp]>([
    ["is not JSON", () => "<html>", {}, /not JSON/],
    ["has a member that it does not know", (text) => text.replace("{", '{"more":1,'), {}, /no valid more/],
    ["is of another gate", (text) => text.replace('"key":"default"', '"key":"other"'), {}, /another gate/],
    [
      "is about another commit",
      (text) => text.replace(`"commit":"${COMMIT}"`, `"commit":"${"d".repeat(40)}"`),
      {},
      /another commit/,
    ],
    [
      "measured another commit",
      (text) => text.replaceAll(COMMIT, "d".repeat(40)).replace("d".repeat(40), COMMIT),
      {},
      /measured another commit/,
    ],
    ["names a later attempt", (text) => text.replace('"run_attempt":1', '"run_attempt":3'), {}, /attempt/],
    ["has another scenario", (text) => text.replaceAll("train-mlp", "train-xyz"), {}, /does not have/],
    [
      "has runs of several sessions",
      (text) => text.replace(/("role":"candidate".*?"session":")[^"]*/, "$1night-1"),
      {},
      /several sessions/,
    ],
    [
      "has a composition of other values",
      (text) => text.replace(String.raw`\"metric\":\"allocated\"`, String.raw`\"metric\":\"gold\"`),
      {},
      /composition is not readable/,
    ],
    [
      "has a composition without end",
      (text) => text.replace(/"peak":"/, `$&${" ".repeat(2000)}`),
      {},
      /valid compositions/,
    ],
    [
      "calls a failed check a pass",
      (text) => text.replace(/"judgement":\{"verdict":"fail"/, '"judgement":{"verdict":"pass"'),
      {},
      /better than its own/,
    ],
  ])("a session that %s is refused", async (_what, change, owner, why) => {
    const { store, stored } = await left(change, owner);
    expect(stored[0]?.bytes.toString()).not.toBe("");
    await expect(downloadSession(store, OWNER, { scenarios })).rejects.toMatchObject({
      code: "SESSION_REFUSED",
      exitCode: 5,
      message: expect.stringMatching(why),
    });
  });

  it("two sessions of one attempt are refused, and that of a newer attempt replaces an older one", async () => {
    const { store, stored } = await left();
    const [first] = stored;
    if (first === undefined) throw new Error("nothing was left");
    stored.push({ ...first, name: "stormlog-session-default-2.json" });
    await expect(downloadSession(store, OWNER, { scenarios })).rejects.toMatchObject({
      message: expect.stringContaining("2 artifacts"),
    });
    stored.splice(1);
    stored.push({
      name: "stormlog-session-default-attempt-2.json",
      bytes: Buffer.from(
        first.bytes
          .toString()
          .replace('"run_attempt":1', '"run_attempt":2')
          .replace('"bundle_artifact":999', '"bundle_artifact":2'),
      ),
    });
    expect((await downloadSession(store, OWNER, { scenarios })).bundleArtifact).toBe(2);
  });
});
