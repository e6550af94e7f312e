import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GateError } from "../core/errors.ts";
import type { BaselineAnswer } from "./answer.ts";
import { MAX_AGE_DAYS, QUIET_DAYS } from "./from-store.ts";
import { loadBaselines, loadFirstBaseline, storeOf } from "./load.ts";
import { acceptRuns, addRuns, emptyRecord, type NewRun } from "./record-changes.ts";
import { recordName } from "./store.ts";

const FINGERPRINT = { backend: "cpu", world_size: 1 };
const NOW = new Date("2026-11-21T12:00:00Z");
let root: string;

const daysAgo = (days: number): string => new Date(NOW.getTime() - days * 86_400_000).toISOString();

function run(timeIso: string, commit: string | null = null): NewRun {
  const series = [{ rank: 0, device: "host", metric: "host" as const, peak_bytes: 1_000_000 }];
  return { measured: { session: timeIso, commit, series }, timeIso, approved: true };
}

const keep = (spec: string, ...runs: readonly NewRun[]) =>
  storeOf(spec, root).update("train", FINGERPRINT, (current) =>
    addRuns(current ?? emptyRecord("train", FINGERPRINT), runs),
  );

const load = (specs: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<BaselineAnswer> =>
  loadFirstBaseline(specs, "train", FINGERPRINT, { root, env, now: () => NOW });

/** Writes a string in place of the record. */
function put(text: string): void {
  const file = path.join(root, "baselines", recordName("train", FINGERPRINT));
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "stormlog-load-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("a store below a link", () => {
  it("a store below a link is where the link led when it was opened, before measured code could replace it", async () => {
    for (const name of ["first", "second"]) mkdirSync(path.join(root, name));
    symlinkSync("first", path.join(root, "link"));
    const store = storeOf("file:link/baselines", root);
    rmSync(path.join(root, "link"));
    symlinkSync("second", path.join(root, "link"));
    await store.update("train", FINGERPRINT, () => addRuns(emptyRecord("train", FINGERPRINT), [run(daysAgo(1))]));
    expect(readdirSync(path.join(root, "first"))).toEqual(["baselines"]);
    expect(readdirSync(path.join(root, "second"))).toEqual([]);
  });
});

describe("an accepted level of few runs", () => {
  it("an accepted level of few runs is judged with the spread of the runs before it, and a warning reports it", async () => {
    await keep("file:baselines", ...[6, 5, 4, 3, 2].map((days) => run(daysAgo(days))));
    await storeOf("file:baselines", root).update("train", FINGERPRINT, (current) =>
      acceptRuns(current ?? emptyRecord("train", FINGERPRINT), [run(daysAgo(1))], "larger batch"),
    );
    const answer = await load(["file:baselines"]);
    expect(answer).toMatchObject({
      kind: "found",
      summary: { runs: 1, earlier_runs: 5 },
      warnings: [
        expect.stringContaining("has 1 run: until it has 5, it is judged with the spread of the 5 runs before"),
      ],
    });
    expect(answer.kind === "found" && answer.measurements.runs).toHaveLength(6);
  });
});

describe("an unusable baseline has a reason and a next step", () => {
  const REFRESH = expect.stringContaining("baseline refresh");

  it("a missing baseline store has a reason and a next step", async () => {
    expect(await load(["file:baselines"])).toMatchObject({
      kind: "absent",
      reason: "no baseline yet: the baseline store file:baselines does not exist",
      nextStep: REFRESH,
    });
  });

  it("a baseline is stale only when its newest run is too old", async () => {
    await keep("file:baselines", run(daysAgo(MAX_AGE_DAYS + 30)), run(daysAgo(MAX_AGE_DAYS + 2)));
    expect(await load(["file:baselines"])).toMatchObject({
      kind: "absent",
      reason: expect.stringMatching(/stale: its newest run is 182 days old, more than 180/),
      nextStep: REFRESH,
    });
    expect(await load(["file:baselines"], { STORMLOG_GATE_BASELINE_MAX_DAYS: "off" })).toMatchObject({ kind: "found" });
    await keep("file:baselines", run(daysAgo(MAX_AGE_DAYS - 1)));
    expect(await load(["file:baselines"])).toMatchObject({ kind: "found", warnings: [] });
    expect(await load(["file:baselines"], { STORMLOG_GATE_BASELINE_MAX_DAYS: "7" })).toMatchObject({ kind: "absent" });
    await expect(load(["file:baselines"], { STORMLOG_GATE_BASELINE_MAX_DAYS: "x" })).rejects.toMatchObject({
      code: "OPTION_INVALID",
    });
  });

  it("a damaged record makes the baseline absent, with a reason and a next step", async () => {
    put('{"schema":"stormlog.baseline/1","scenario":"train"');
    expect(await load(["file:baselines"])).toMatchObject({
      kind: "absent",
      reason: expect.stringMatching(/no usable baseline for scenario "train" \(.*not complete JSON/),
      nextStep: expect.stringContaining("baseline verify"),
      warnings: [expect.stringContaining("skipped in file:baselines")],
    });
  });

  it("a record of a newer version makes the baseline absent, with a reason and a next step", async () => {
    put('{"schema":"stormlog.baseline/2"}');
    expect(await load(["file:baselines"])).toMatchObject({
      kind: "absent",
      reason: expect.stringContaining("stormlog.baseline/2"),
      nextStep: expect.stringContaining("newer stormlog-gate"),
    });
  });

  it("several unusable stores give both reasons and the next step of the one that exists", async () => {
    put('{"schema":"stormlog.baseline/2"}');
    expect(await load(["ref:refs/stormlog/baselines", "file:baselines"])).toMatchObject({
      kind: "absent",
      reason: expect.stringMatching(
        /^file:baselines has no usable baseline .*; the baseline store ref:refs\/stormlog\/baselines does not exist/,
      ),
      nextStep: expect.stringContaining("newer stormlog-gate"),
    });
  });

  it("a baseline from another environment is found with its own fingerprint", async () => {
    await keep("file:baselines", run(daysAgo(1)));
    const other = { ...FINGERPRINT, world_size: 8 };
    const answer = await loadFirstBaseline(["file:baselines"], "train", other, { root, env: {}, now: () => NOW });
    expect(answer).toMatchObject({ kind: "found", measurements: { fingerprint: { world_size: 1 } } });
  });

  it("an unreadable ref store gives a warning, and the next store is used", async () => {
    await keep("file:baselines", run(daysAgo(1)));
    const silent = (name: string) => ({
      ...storeOf("ref:refs/x/y", root),
      name,
      kind: "ref" as const,
      list: () => Promise.reject(unreadable(name)),
      update: () => Promise.reject(unreadable(name)),
    });
    const context = { root, env: {}, now: () => NOW, openRef: silent };
    const alone = await loadFirstBaseline(["ref:refs/x/y"], "train", FINGERPRINT, context);
    expect(alone).toMatchObject({ kind: "absent", reason: "ref:refs/x/y could not be read", warnings: ["gone"] });
    const both = await loadFirstBaseline(["ref:refs/x/y", "file:baselines"], "train", FINGERPRINT, context);
    expect(both).toMatchObject({ kind: "found", warnings: ["gone"] });
  });
});

describe("a baseline on a ref", () => {
  it("a baseline on a ref has a warning about its nightly job when its newest run is old", async () => {
    execFileSync("git", ["init", "--quiet", root]);
    await keep("ref:refs/stormlog/baselines", run(daysAgo(QUIET_DAYS + 1)));
    const answer = await load(["ref:refs/stormlog/baselines"]);
    expect(answer).toMatchObject({ kind: "found", warnings: [expect.stringMatching(/31 days old: .*nightly/)] });
  });
});

describe("baselines that are held", () => {
  const hold = (names: readonly string[], ...specs: readonly string[]) =>
    loadBaselines(specs, names, { root, env: {}, now: () => NOW });

  it("baselines that were read stay usable, whatever happens to their files", async () => {
    await keep("file:baselines", run(daysAgo(1)));
    const file = path.join(root, "record.json");
    writeFileSync(file, readFileSync(path.join(root, "baselines", recordName("train", FINGERPRINT))));
    const held = [await hold(["train"], "file:baselines"), await hold(["train"], "record.json")];
    rmSync(path.join(root, "baselines"), { recursive: true });
    writeFileSync(file, "{");
    for (const one of held) expect(one.find({ name: "train" }, FINGERPRINT)).toMatchObject({ summary: { runs: 1 } });
  });

  it("a baseline file that cannot be used is an error only for a scenario that needs it", async () => {
    await keep("file:baselines", run(daysAgo(1)));
    writeFileSync(path.join(root, "cut.json"), "{");
    const held = await hold(["train", "eval"], "file:baselines", "cut.json");
    expect(held.find({ name: "train" }, FINGERPRINT)).toMatchObject({ kind: "found" });
    expect(() => held.find({ name: "eval" }, FINGERPRINT)).toThrow(/not complete JSON/);
  });

  it("a baseline of another spelling of the scenario counts as its own, one of another definition does not", async () => {
    const theirs = { ...FINGERPRINT, scenario_definition: "aaaa" };
    await storeOf("file:baselines", root).update("train", theirs, (current) =>
      addRuns(current ?? emptyRecord("train", theirs), [run(daysAgo(1))]),
    );
    const ours = { ...FINGERPRINT, scenario_definition: "bbbb" };
    const held = await hold(["train"], "file:baselines");
    const definition = (otherDefinitions: readonly string[]) => {
      const answer = held.find({ name: "train", otherDefinitions }, ours);
      return answer.kind === "found" ? answer.measurements.fingerprint?.scenario_definition : null;
    };
    expect(definition(["cccc", "aaaa"])).toBe("bbbb");
    expect(definition(["cccc"])).toBe("aaaa");
  });

  it("a baseline of the former name counts where the new name has none", async () => {
    await keep("file:baselines", run(daysAgo(1)));
    const held = await hold(["train2", "train"], "file:baselines");
    expect(held.find({ name: "train2" }, FINGERPRINT).kind).toBe("absent");
    expect(held.find({ name: "train2", formerName: "train" }, FINGERPRINT)).toMatchObject({ summary: { runs: 1 } });
  });
});

function unreadable(name: string): GateError {
  return new GateError("BASELINE_STORE_UNREADABLE", "gone", { kind: "error", where: name });
}
