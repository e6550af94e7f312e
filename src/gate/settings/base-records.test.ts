import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openFileStore } from "../../baseline/file-store.ts";
import { addRuns, emptyRecord } from "../../baseline/record-changes.ts";
import { serializeRecord } from "../../baseline/record-size.ts";
import { viewRepository } from "../../git/repository-view.ts";
import { baseRecords } from "./base-records.ts";

let root: string;
let base: string;

const git = (...args: readonly string[]): string =>
  execFileSync("git", ["-C", root, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();

/** The text of a record of one run with this peak. */
function record(peak: number, scenario = "train"): string {
  const series = [{ rank: 0, device: "host", metric: "host" as const, peak_bytes: peak }];
  const run = { measured: { session: "s", commit: null, series }, timeIso: "2026-11-01T00:00:00Z", approved: true };
  return serializeRecord(addRuns(emptyRecord(scenario, { backend: "cpu" }), [run]));
}

function put(name: string, text: string): void {
  const file = path.join(root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function commit(): string {
  git("add", "--all");
  git("commit", "--quiet", "--allow-empty", "-m", "c");
  return git("rev-parse", "HEAD");
}

const read = async (specs: readonly string[] = ["file:baselines"], ports: Parameters<typeof baseRecords>[3] = {}) =>
  baseRecords(specs, await viewRepository(root), base, ports, (spec) =>
    openFileStore(spec, path.resolve(root, spec.slice(5))),
  );

/** The changes of the only store, and the peaks that it compares with. */
async function judged(...given: Parameters<typeof read>) {
  const { stores, warnings } = await read(...given);
  const [store] = [...stores.values()];
  const content = await store?.store.list();
  const peaks = content?.records.map((one) => one.record.epochs[0]?.runs[0]?.values[0]?.[0]);
  return { changes: store?.changes, peaks, warnings };
}

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "stormlog-base-records-"));
  git("init", "--quiet", "--initial-branch=main");
  put("baselines/train/0000000000000000.json", record(1000));
  put("baselines/eval/0000000000000000.json", record(1000, "eval"));
  base = commit();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("the records of a pull request", () => {
  it("the records of a pull request are the base commit's, without a change where they mean the same", async () => {
    put("baselines/train/0000000000000000.json", JSON.stringify(JSON.parse(record(1000)), null, 4));
    commit();
    expect(await judged()).toEqual({ changes: [], peaks: [1000, 1000], warnings: [] });
  });

  it("the records that the change alters, adds or deletes are listed, committed or not", async () => {
    put("baselines/train/0000000000000000.json", record(9000));
    rmSync(path.join(root, "baselines/eval"), { recursive: true });
    commit();
    put("baselines/train/1111111111111111.json", record(9000));
    const { changes, peaks } = await judged();
    const described = expect.stringMatching(/^1 run, sha256 [0-9a-f]{16}$/);
    expect(changes).toEqual([
      { path: "baselines/eval/0000000000000000.json", base: described, head: null },
      { path: "baselines/train/0000000000000000.json", base: described, head: described },
      { path: "baselines/train/1111111111111111.json", base: null, head: described },
    ]);
    expect(changes?.[1]?.base).not.toBe(changes?.[1]?.head);
    expect(peaks).toEqual([1000, 1000]);
  });

  it("the records are the base commit's where the change puts a link in place of their directory", async () => {
    put("other/train/0000000000000000.json", record(9000));
    rmSync(path.join(root, "baselines"), { recursive: true });
    symlinkSync("other", path.join(root, "baselines"));
    commit();
    const { changes, peaks } = await judged();
    expect(changes?.map((one) => one.path)).toEqual([
      "baselines/eval/0000000000000000.json",
      "baselines/train/0000000000000000.json",
    ]);
    expect(peaks).toEqual([1000, 1000]);
  });

  it("the records of the base commit are found behind a committed link", async () => {
    renameSync(path.join(root, "baselines"), path.join(root, "shared"));
    symlinkSync("shared", path.join(root, "baselines"));
    base = commit();
    put("shared/train/0000000000000000.json", record(9000));
    commit();
    const { changes, peaks } = await judged();
    expect(changes?.map((one) => one.path)).toEqual(["baselines/train/0000000000000000.json"]);
    expect(peaks).toEqual([1000, 1000]);
  });

  it("the records of a change do not count where the base commit has no store yet", async () => {
    put("records/train/0000000000000000.json", record(9000));
    commit();
    const { changes, peaks } = await judged(["file:records"]);
    expect(changes).toMatchObject([{ path: "records/train/0000000000000000.json", base: null }]);
    expect(peaks).toEqual([]);
  });

  it("baseRecords opens no store where no commit has the directory, or it is outside of the repository", async () => {
    put("cache/train/0000000000000000.json", record(9000));
    const { stores } = await read(["file:cache", "file:../elsewhere", `file:${tmpdir()}`, "ref:refs/x/y", "none"]);
    expect([...stores.keys()]).toEqual([]);
  });

  it("records come from the port where the clone lacks the base commit; without a port there is a warning", async () => {
    base = "1".repeat(40);
    const asked: string[] = [];
    const recordsAt = async (at: string, directory: string) => {
      asked.push(`${at.slice(0, 4)}:${directory}`);
      return [{ name: "train/0000000000000000.json", text: record(500) }];
    };
    expect(await judged(["file:baselines"], { recordsAt })).toMatchObject({ peaks: [500], warnings: [] });
    expect(asked).toEqual(["1111:baselines"]);
    const { stores, warnings } = await read();
    expect(stores.size).toBe(0);
    expect(warnings).toMatchObject([expect.stringContaining("commit 111111111111 is not in this clone")]);
  });

  it("the records of the base commit cannot be written", async () => {
    const { stores } = await read();
    const [store] = [...stores.values()];
    await expect(
      store?.store.update("train", {}, (current) => current ?? emptyRecord("train", {})),
    ).rejects.toMatchObject({ code: "BASELINE_STORE_UNWRITABLE" });
  });
});
