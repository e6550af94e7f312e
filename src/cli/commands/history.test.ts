import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { storeOf } from "../../baseline/load.ts";
import { addRuns, emptyRecord, type NewRun } from "../../baseline/record-changes.ts";
import { prepareBundle, writeBundle } from "../../report/bundle/bundle.ts";
import { sampleReport } from "../../report/testing/sample-report.ts";
import type { Invocation } from "../console/command.ts";
import { history } from "./history.ts";

const FINGERPRINT = { backend: "cpu", world_size: 1 };
let root: string;
let printed: string[];
let documents: unknown[];
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "history-"));
  [printed, documents] = [[], []];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function invoked(positionals: readonly string[], text: Readonly<Record<string, string>> = {}): Promise<number> {
  const console: Invocation["console"] = {
    json: true,
    color: false,
    quiet: false,
    width: 100,
    interactive: false,
    print: (line) => printed.push(line),
    document: (value) => documents.push(value),
    childOutput: () => () => {},
    progress: null,
  };
  const config = path.join(root, "stormlog-gate.yml");
  return history({ text: { config, ...text }, lists: {}, flags: {}, positionals, rest: null, argv: [], console });
}

function git(...args: readonly string[]): string {
  const author = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
  return execFileSync("git", ["-C", root, ...author, ...args], { encoding: "utf8" }).trim();
}

/** New commits of the branch, oldest first. */
function commits(count: number): readonly string[] {
  for (let i = 0; i < count; i += 1) git("commit", "--quiet", "--allow-empty", "-m", `Change ${i}`);
  return git("rev-list", "--reverse", `--max-count=${count}`, "HEAD").split("\n");
}

/** A run of so many ranks that a record keeps ten of them. */
function run(session: string, at: string | null, day: number, peak: number): NewRun {
  const series = Array.from({ length: 80 }, (_, rank) => ({
    rank,
    device: "cuda:0",
    metric: "allocated" as const,
    peak_bytes: peak - rank,
  }));
  const timeIso = new Date(Date.UTC(2026, 0, day)).toISOString();
  return { measured: { session, commit: at, series }, timeIso, approved: true };
}

const keep = (spec: string, runs: readonly NewRun[]) =>
  storeOf(spec, root).update("train", FINGERPRINT, (current) =>
    addRuns(current ?? emptyRecord("train", FINGERPRINT), runs),
  );

interface Shown {
  readonly scenarios: readonly {
    readonly scenario: string;
    readonly series: readonly {
      readonly quantity: string;
      readonly points: readonly { readonly session: string; readonly value: number }[];
      readonly changes: readonly { readonly from: number; readonly at: number }[];
    }[];
  }[];
  readonly notes: readonly string[];
}
const shown = (): Shown => documents[0] as Shown;

describe("history of a ref", () => {
  it("sessions that a record has dropped are read from earlier commits of the ref, and the change has its commit", async () => {
    git("init", "--quiet", "-b", "main");
    const line = commits(24);
    const runs = line.map((at, i) => run(`s${i}`, at, i + 1, i < 15 ? 2 ** 30 : 1.2 * 2 ** 30));
    for (let from = 0; from < runs.length; from += 8) await keep("ref:refs/baselines", runs.slice(from, from + 8));
    const { records } = await storeOf("ref:refs/baselines", root).list();
    expect(records[0]!.record.epochs[0]!.runs.length).toBeLessThan(16);

    const page = path.join(root, "history.html");
    expect(await invoked(["ref:refs/baselines"], { html: page })).toBe(0);
    const [before, after] = [line[14]!.slice(0, 12), line[15]!.slice(0, 12)];
    expect(printed[0]).toBe(`train: allocated peak +20.0 % (1.20 GiB, was 1.00 GiB) at ${after}, after ${before}`);
    expect(shown().scenarios[0]!.series[0]).toMatchObject({
      quantity: "peak",
      points: runs.map(({ measured }) => ({ session: measured.session })),
      changes: [{ kind: "step", from: 14, at: 15 }],
    });
    expect(readFileSync(page, "utf8")).toContain("<h2>train</h2>");
  });

  it("sessions are in the order of their commits, and those of another branch are left out", async () => {
    git("init", "--quiet", "-b", "main");
    const line = commits(3);
    git("switch", "--quiet", "-c", "other");
    const [other] = commits(1);
    git("switch", "--quiet", "main");
    const order = [line[2]!, line[0]!, other!, line[1]!];
    await keep(
      "ref:refs/baselines",
      order.map((at, i) => run(`s${i}`, at, i + 1, 2 ** 30)),
    );
    await invoked(["ref:refs/baselines"]);
    expect(shown().scenarios[0]!.series[0]!.points.map(({ session }) => session)).toEqual(["s1", "s3", "s0"]);
    expect(shown().notes).toEqual(["1 session of commits that are not on this branch left out"]);
  });
});

describe("history of files", () => {
  it("a store outside a repository is read in the order of time", async () => {
    await keep("file:store", [run("s1", null, 2, 100), run("s0", null, 1, 100)]);
    await invoked(["store"]);
    expect(shown().scenarios[0]!.series[0]!.points.map(({ session }) => session)).toEqual(["s0", "s1"]);
    expect(printed[0]).toMatch(/^train: 2 sessions \(2 runs\); fewer than 20 sessions/);
  });

  it("bundles below a directory are read, and one that is damaged is a note", async () => {
    for (const [i, name] of ["a", "b/deep"].entries()) {
      const directory = path.join(root, "bundles", name);
      const report = sampleReport("pass");
      const scenarios = report.scenarios.map((scenario) => ({
        ...scenario,
        timeline: null,
        runs: scenario.runs.map((one) => ({ ...one, info: { ...one.info, session: `job ${i}` } })),
      }));
      await prepareBundle(directory, { argv: ["run"], createdIso: "2026-11-20T09:41:12.000Z" });
      await writeBundle(directory, { ...report, generated_at_utc: `2026-11-2${i}T00:00:00Z`, scenarios });
    }
    mkdirSync(path.join(root, "bundles", "c"));
    writeFileSync(path.join(root, "bundles", "c", "manifest.json"), "{");
    await invoked(["bundles"]);
    const [scenario] = shown().scenarios;
    expect(scenario!.series[0]!.points.length).toBeGreaterThanOrEqual(2);
    expect(new Set(scenario!.series[0]!.points.map(({ session }) => session))).toEqual(new Set(["job 0", "job 1"]));
    expect(shown().notes).toEqual([expect.stringMatching(/^skipped .*c: .*\(INPUT_TRUNCATED\)$/)]);
  });

  it("a store that does not exist is an error", async () => {
    await expect(invoked(["nowhere"])).rejects.toMatchObject({ code: "BASELINE_STORE_UNREADABLE" });
  });
});
