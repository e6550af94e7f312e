import { getOctokit } from "@actions/github";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { MeasuredRun } from "../../src/analysis/measurements.ts";
import { openGitStore } from "../../src/baseline/git-store.ts";
import type { BaselineRecord } from "../../src/baseline/record.ts";
import { addRuns, emptyRecord, type NewRun } from "../../src/baseline/record-changes.ts";
import { MAX_RECORD_BYTES, serializeRecord } from "../../src/baseline/record-size.ts";
import { type BaselineStore, MAX_HISTORY, recordName } from "../../src/baseline/store.ts";
import type { Octokit } from "../../src/github/api/octokit.ts";
import { type GitData, type GitDataOptions, openGitData } from "../../src/github/repository/git-data-client.ts";
import { openRefStore } from "../../src/github/repository/ref-store.ts";
import { GitDataDouble } from "./testing/double/git-data.ts";
import { HistoryDouble } from "./testing/double/history.ts";
import { GitHubDouble } from "./testing/github-double.ts";

const REF = "refs/stormlog/baselines";
const REPOSITORY = { owner: "octo", repo: "model" };
const FINGERPRINT = { backend: "cuda", device: "H100", world_size: 1 };
const ROUNDS = Number(process.env.STORMLOG_TEST_WRITER_ROUNDS ?? "1");
const WRITERS = 16;
/** A fiftieth of three years of nightly refreshes, with a smaller limit of commits; the variable enables all. */
const REFRESHES = Number(process.env.STORMLOG_TEST_REFRESH_ROUNDS ?? "20");
const MAX_COMMITS = REFRESHES >= 1000 ? MAX_HISTORY : 10;

let github: GitHubDouble;
let repository: GitDataDouble;

/** A client without pauses between writes, so that writers collide as often as possible. */
function client(token = "job"): Octokit {
  return getOctokit(token, { baseUrl: github.url });
}

const gitData = (options: GitDataOptions = {}): GitData => openGitData(client(), REPOSITORY, options);
const store = (options: GitDataOptions = {}): BaselineStore => openRefStore(gitData(options), `ref:${REF}`, REF);

function newRun(session: string): NewRun {
  const measured: MeasuredRun = {
    session,
    commit: null,
    series: [{ rank: 0, device: "cuda:0", metric: "allocated", peak_bytes: 78_123_456_789, growth_bytes: 1_234_567 }],
  };
  return { measured, timeIso: "2026-11-21T03:00:00Z", approved: true };
}

const add = (to: BaselineStore, session: string, scenario = "train") =>
  to.update(scenario, FINGERPRINT, (current) =>
    addRuns(current ?? emptyRecord(scenario, FINGERPRINT), [newRun(session)]),
  );

const sessionsOf = (record: BaselineRecord | undefined): readonly string[] =>
  (record?.epochs.at(-1)?.runs ?? []).map(({ session }) => session);

beforeEach(async () => {
  github = new GitHubDouble();
  repository = new GitDataDouble();
  github.use(repository.routes).use(new HistoryDouble(repository.directory).routes);
  github.graphQl = (query, variables) => repository.updateRefs(query, variables);
  await github.start();
  github.tokens.set("job", { login: "github-actions[bot]", write: true });
  github.tokens.set("readonly", { login: "github-actions[bot]", write: false });
});

afterEach(async () => {
  await github.stop();
  expect(repository.git("fsck", "--strict", "--no-progress", "--no-dangling")).toBe("");
  repository.dispose();
  expect(github.faults).toEqual([]);
});

describe("baselines on a ref over the API", () => {
  it("a ref store does not exist before its first write", async () => {
    expect(await store().list()).toEqual({ exists: false, records: [], skipped: [] });
  });

  it("a ref store over the API and one in the clone read each other's records", async () => {
    await add(store(), "from the API");
    const local = openGitStore(`ref:${REF}`, repository.directory, REF);
    await add(local, "from the clone");
    const [ours] = (await store().list()).records;
    const [theirs] = (await local.list()).records;
    expect(sessionsOf(ours?.record)).toEqual(["from the API", "from the clone"]);
    expect(ours).toEqual(theirs);
    expect(repository.git("log", "--format=%s %(trailers:key=Stormlog-Depth,valueonly,separator=%x2C)", REF)).toBe(
      `Baseline of ${ours?.name} 2\nBaseline of ${ours?.name} 1`,
    );
  });

  it.each(Array.from({ length: ROUNDS }, (_, round) => round + 1))(
    `a ref store keeps the runs of ${WRITERS} concurrent writers, round %d`,
    async () => {
      const sessions = Array.from({ length: WRITERS }, (_, n) => `session-${n}`);
      await Promise.all(sessions.map((session) => add(store(), session)));
      const { records, skipped } = await store().list();
      expect(skipped).toEqual([]);
      expect(records).toHaveLength(1);
      expect([...sessionsOf(records[0]?.record)].sort()).toEqual([...sessions].sort());
      expect(repository.git("rev-list", "--count", REF)).toBe(String(WRITERS));
      expect(repository.git("rev-list", "--count", "--max-parents=0", REF)).toBe("1");
    },
    120_000,
  );

  it("a ref store reads one ref, one tree and the blobs of the requested scenario", async () => {
    const writer = store();
    for (const scenario of ["train", "serve", "eval"]) await add(writer, "s", scenario);
    await gitData().commit(REF, "a badge", async () => new Map([["badge.json", Buffer.from("{}")]]));
    github.requests.length = 0;
    const { records, skipped } = await store().list("serve");
    expect([records.map(({ record }) => record.scenario), skipped]).toEqual([["serve"], []]);
    expect(github.requests.map(({ method, path }) => `${method} ${path.split("/")[5]}`)).toEqual([
      "GET ref",
      "GET trees",
      "GET blobs",
    ]);
  });

  it("a ref store never overwrites a damaged or newer record", async () => {
    const name = recordName("train", FINGERPRINT);
    for (const [text, why] of [
      ['{"schema":', /not complete JSON/],
      ['{"schema":"stormlog.baseline/9"}', /INPUT_SCHEMA_VERSION/],
    ] as const) {
      await gitData().commit(REF, "foreign", async () => new Map([[name, Buffer.from(text)]]));
      const tip = repository.git("rev-parse", REF);
      await expect(add(store(), "x")).rejects.toMatchObject({ code: "BASELINE_STORE_UNWRITABLE", message: why });
      expect(repository.git("rev-parse", REF)).toBe(tip);
      expect((await store().list()).skipped.join()).toMatch(why);
    }
  });

  it("a ref store names the missing permission", async () => {
    const readonly = openRefStore(openGitData(client("readonly"), REPOSITORY), `ref:${REF}`, REF);
    await expect(add(readonly, "x")).rejects.toMatchObject({
      code: "BASELINE_STORE_UNWRITABLE",
      message: expect.stringContaining("contents: write"),
    });
    github.failure = () => ({ kind: "status", status: 403, message: "Resource not accessible by integration" });
    await expect(store().list()).rejects.toMatchObject({
      code: "BASELINE_STORE_UNREADABLE",
      kind: "error",
      message: expect.stringContaining("contents: read"),
    });
  });

  it("a ref store writes once when GitHub moved the ref but its answer was lost", async () => {
    await add(store(), "first");
    let lost = 0;
    github.failure = ({ method, body }) => {
      if (method !== "PATCH" || lost > 0) return null;
      lost += 1;
      repository.git("update-ref", REF, (body as { sha: string }).sha);
      return { kind: "status", status: 502 };
    };
    await add(store(), "second");
    expect(lost).toBe(1);
    expect(sessionsOf((await store().list()).records[0]?.record)).toEqual(["first", "second"]);
  });
});

describe("the history of the ref", () => {
  const MAX = 5;

  it("the ref's history restarts when it is too long, and concurrent writers lose nothing", async () => {
    const sessions = Array.from({ length: 12 }, (_, n) => `session-${n}`);
    for (const session of sessions.slice(0, 4)) await add(store({ maxHistory: MAX }), session);
    await Promise.all(sessions.slice(4).map((session) => add(store({ maxHistory: MAX }), session)));
    expect([...sessionsOf((await store().list()).records[0]?.record)].sort()).toEqual([...sessions].sort());
    expect(Number(repository.git("rev-list", "--count", REF))).toBeLessThanOrEqual(MAX);
    expect(repository.git("rev-list", "--count", "--max-parents=0", REF)).toBe("1");
  }, 60_000);

  it("the ref's history stays long, with one note, when GitHub refuses to replace it", async () => {
    github.graphQl = (query) =>
      query.includes("updateRefs")
        ? { data: { updateRefs: null }, errors: [{ type: "FORBIDDEN", path: ["updateRefs"], message: "not allowed" }] }
        : null;
    const said: string[] = [];
    const one = store({ maxHistory: MAX, log: (line) => said.push(line) });
    for (let n = 0; n < MAX + 3; n += 1) await add(one, `session-${n}`);
    expect(repository.git("rev-list", "--count", REF)).toBe(String(MAX + 3));
    expect(said).toEqual([expect.stringMatching(/stays as long as it is.*not allowed/)]);
  });

  it(`records and commits stay within their caps over ${REFRESHES} refreshes`, async () => {
    const nightly = store({ maxHistory: MAX_COMMITS });
    for (let night = 0; night < REFRESHES; night += 1) {
      await nightly.update("train", FINGERPRINT, (current) =>
        addRuns(
          current ?? emptyRecord("train", FINGERPRINT),
          Array.from({ length: 5 }, () => newRun(`night-${night}`)),
        ),
      );
    }
    const [stored] = (await store().list()).records;
    const text = serializeRecord(stored?.record ?? emptyRecord("", {}));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_RECORD_BYTES);
    expect(sessionsOf(stored?.record).at(-1)).toBe(`night-${REFRESHES - 1}`);
    expect(Number(repository.git("rev-list", "--count", REF))).toBeLessThanOrEqual(MAX_COMMITS);
    expect(Number(repository.git("rev-list", "--disk-usage", "--objects", REF))).toBeLessThan(MAX_COMMITS * 8_000);
  }, 600_000);
});
