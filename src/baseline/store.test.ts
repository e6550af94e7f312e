import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { MeasuredRun } from "../analysis/measurements.ts";
import { openFileStore } from "./file-store.ts";
import { type BaselineRecord, selectRuns } from "./record.ts";
import { addRuns, emptyRecord, type NewRun } from "./record-changes.ts";
import { RecordClaim } from "./record-claim.ts";
import { serializeRecord } from "./record-size.ts";
import { parseBaselineSpec } from "./spec.ts";
import { type BaselineStore, recordName } from "./store.ts";

const FINGERPRINT = { backend: "cpu", world_size: 1 };
const directories: string[] = [];

function directory(): string {
  const made = mkdtempSync(path.join(tmpdir(), "stormlog-store-"));
  directories.push(made);
  return made;
}

afterEach(() => {
  for (const made of directories.splice(0)) rmSync(made, { recursive: true, force: true });
});

function storeAt(spec: string, root: string): BaselineStore {
  const parsed = parseBaselineSpec(spec, root);
  if (parsed.kind !== "store") throw new Error("not a store");
  return parsed.store;
}

function newRun(session: string): NewRun {
  const measured: MeasuredRun = {
    session,
    commit: null,
    series: [{ rank: 0, device: "host", metric: "host", peak_bytes: 1 }],
  };
  return { measured, timeIso: "2026-09-21T03:00:00Z", approved: true };
}

const add = (store: BaselineStore, session: string) =>
  store.update("train", FINGERPRINT, (current) =>
    addRuns(current ?? emptyRecord("train", FINGERPRINT), [newRun(session)]),
  );

function repository(): string {
  const root = directory();
  execFileSync("git", ["init", "-q", root]);
  return root;
}

describe("a store of files", () => {
  it("lists a record once, although a link beside it leads to the store", async () => {
    const root = directory();
    const store = storeAt("file:baselines", root);
    const { name } = await add(store, "s1");
    symlinkSync("..", path.join(root, "baselines/train/up"));
    expect((await store.list()).records.map((one) => one.name)).toEqual([name]);
  });
});

describe.each([
  ["file:baselines", directory],
  ["ref:refs/stormlog/baselines", repository],
])("the store %s", (spec, place) => {
  it("keeps what the peak of a record consists of beside it, and the record as it is", async () => {
    const store = storeAt(spec, place());
    const { name } = await add(store, "s1");
    await store.keepPeak?.(name, '{"opened":1}');
    await store.keepPeak?.(name, '{"opened":2}\n');
    const { record } = await add(store, "s2");
    const { records, peaks, skipped } = await store.list("train");
    expect(records).toEqual([{ name, record }]);
    expect(skipped).toEqual([]);
    expect([...(peaks ?? [])].map(([key, text]) => [key, text.trim()])).toEqual([[name, '{"opened":2}']]);
  });

  it("does not exist before the first run is written", async () => {
    expect(await storeAt(spec, place()).list()).toEqual({ exists: false, records: [], skipped: [] });
  });

  it("keeps the runs that many concurrent writers add, each through its own store", async () => {
    const root = place();
    const writers = spec.startsWith("file:") ? 16 : 6;
    const sessions = Array.from({ length: writers }, (_, i) => `session-${i}`);
    await Promise.all(sessions.map((session) => add(storeAt(spec, root), session)));
    const { records, skipped } = await storeAt(spec, root).list();
    expect(skipped).toEqual([]);
    expect(records).toHaveLength(1);
    const kept = records.flatMap(({ record }) => selectRuns(record, null).map(({ session }) => session));
    expect(kept.sort()).toEqual(sessions.sort());
  });

  it("gives every scenario and environment its own record", async () => {
    const store = storeAt(spec, place());
    await add(store, "one");
    for (const scenario of ["../../x", "a/b", "", "ß"]) {
      await store.update(scenario, FINGERPRINT, () => addRuns(emptyRecord(scenario, FINGERPRINT), [newRun("s")]));
    }
    const other = { ...FINGERPRINT, world_size: 8 };
    await store.update("train", other, () => addRuns(emptyRecord("train", other), [newRun("s")]));
    const { records } = await store.list();
    expect(records.map(({ record }) => record.scenario).sort()).toEqual(["", "../../x", "a/b", "train", "train", "ß"]);
    expect(new Set(records.map(({ name }) => name)).size).toBe(6);
  });
});

describe("a file store", () => {
  it("skips a corrupt record and one of a newer schema, with the reason, and overwrites neither", async () => {
    const root = directory();
    const store = storeAt("file:baselines", root);
    await add(store, "one");
    writeFileSync(path.join(root, "baselines", "train", "broken.json"), '{"schema":');
    const future = path.join(root, "baselines", recordName("later", FINGERPRINT));
    mkdirSync(path.dirname(future), { recursive: true });
    writeFileSync(future, '{"schema":"stormlog.baseline/9"}');
    const { records, skipped } = await store.list();
    expect(records).toHaveLength(1);
    expect(skipped.join()).toMatch(/broken.*INPUT_SCHEMA_VERSION|INPUT_SCHEMA_VERSION.*broken/s);
    const write = store.update("later", FINGERPRINT, () => emptyRecord("later", FINGERPRINT));
    await expect(write).rejects.toMatchObject({ code: "BASELINE_STORE_UNWRITABLE" });
  });

  it("never overwrites an existing record that cannot be read", async () => {
    const root = directory();
    const store = storeAt("file:baselines", root);
    // A directory at its path cannot be read as a file, even by root.
    mkdirSync(path.join(root, "baselines", recordName("train", FINGERPRINT)), { recursive: true });
    await expect(add(store, "one")).rejects.toMatchObject({ code: "BASELINE_STORE_UNWRITABLE" });
    expect((await store.list()).skipped.join()).toMatch(/cannot be read/);
  });

  it("removes the claim of a writer that died, and leaves no other file", async () => {
    const root = directory();
    const { pid } = spawnSync(process.execPath, ["--version"]);
    const file = path.join(root, "baselines", recordName("train", FINGERPRINT));
    const host = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(`${file}.${host}-${pid}-0123456789abcdef.lock`, '{"half":');
    await add(storeAt("file:baselines", root), "one");
    expect(readdirSync(path.dirname(file))).toEqual([path.basename(file)]);
  });

  it("writes nothing over another writer's record when its own claim was removed, and begins again", async () => {
    const root = directory();
    const store = storeAt("file:baselines", root);
    const file = path.join(root, "baselines", recordName("train", FINGERPRINT));
    const seen: (readonly string[])[] = [];
    const runsOf = (record: BaselineRecord | null) =>
      record === null ? [] : selectRuns(record, null).map(({ session }) => session);
    await store.update("train", FINGERPRINT, (current) => {
      seen.push(runsOf(current));
      if (seen.length === 1) {
        // What a writer does that takes this one for dead: it removes the claim and commits.
        for (const name of readdirSync(path.dirname(file))) rmSync(path.join(path.dirname(file), name));
        writeFileSync(file, serializeRecord(addRuns(emptyRecord("train", FINGERPRINT), [newRun("other")])));
      }
      return addRuns(current ?? emptyRecord("train", FINGERPRINT), [newRun("own")]);
    });
    expect(seen).toEqual([[], ["other"]]);
    const { records } = await store.list();
    expect(records.flatMap(({ record }) => runsOf(record)).sort()).toEqual(["other", "own"]);
  });

  it("waits for a living writer, however long its update takes by the clock of the machine", async () => {
    const root = directory();
    const store = openFileStore("file:baselines", path.join(root, "baselines"));
    const file = path.join(root, "baselines", recordName("train", FINGERPRINT));
    mkdirSync(path.dirname(file), { recursive: true });
    const first = await RecordClaim.of(file);
    for (const name of readdirSync(path.dirname(file))) utimesSync(path.join(path.dirname(file), name), 0, 0);
    const second = add(store, "second");
    await first.commit(serializeRecord(addRuns(emptyRecord("train", FINGERPRINT), [newRun("first")])));
    const { record } = await second;
    expect(selectRuns(record, null).map(({ session }) => session)).toEqual(["first", "second"]);
  });
});
