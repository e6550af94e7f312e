import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { StateJudge, StateVerdict } from "./judge-state.ts";
import { runSearch, type Subject } from "./run-search.ts";
import { openState, STATE_FILE } from "./state.ts";

let directory: string;
const scratches: string[] = [];
beforeEach(() => {
  directory = path.join(mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-search-")), "search");
  scratches.length = 0;
});
afterEach(() => rmSync(path.dirname(directory), { recursive: true, force: true }));

const fresh = { subject: "s", session: "one" };

/** A subject whose states are directories with the indices of their changes. */
function subjectOf(count: number, prepare: (included: readonly number[]) => void = () => {}): Subject {
  return {
    count,
    nameOf: (included) => `state ${included.length}`,
    prepare: async (included, scratch) => {
      scratches.push(scratch);
      prepare(included);
      writeFileSync(path.join(scratch, "included"), JSON.stringify(included));
      return { cwd: scratch, env: {} };
    },
  };
}

function judgeOf(verdictOf: (included: readonly number[]) => StateVerdict["verdict"]): StateJudge {
  const judge: StateJudge["good"] = async ({ cwd }, bundle) => {
    const included: number[] = JSON.parse(readFileSync(path.join(cwd, "included"), "utf8"));
    return { verdict: verdictOf(included), sentence: `${included.length} changes`, bundle };
  };
  return { good: judge, other: judge };
}

const culpritOf = (culprit: number) => judgeOf((included) => (included.includes(culprit) ? "fail" : "pass"));
const ports = (interrupt = new AbortController().signal) => ({ log: () => {}, interrupt });

describe("a search", () => {
  it("finds 10 of 10 changes among 64, each with at most 9 states built and all of them removed", async () => {
    for (let draw = 0; draw < 10; draw += 1) {
      const culprit = (draw * 29 + 5) % 64;
      const at = `${directory}-${draw}`;
      const { result, steps } = await runSearch(
        at,
        await openState(at, fresh, false),
        subjectOf(64),
        culpritOf(culprit),
        ports(),
      );
      expect(result).toMatchObject({ kind: "found", changes: [culprit], red: { outcome: "red" } });
      expect(steps.length).toBeLessThanOrEqual(9);
    }
    expect(scratches.filter(existsSync)).toEqual([]);
  });

  it.each([
    ["good is red", "fail"],
    ["bad is pass", "pass"],
    ["bad is unjudged", "unjudged"],
  ] as const)("a search is not reproducible where %s, after it judged both ends", async (reason, verdict) => {
    const state = await openState(directory, fresh, false);
    const { result, steps } = await runSearch(
      directory,
      state,
      subjectOf(8),
      judgeOf(() => verdict),
      ports(),
    );
    expect(result).toEqual({ kind: "not-reproducible", reason });
    expect(steps.map(({ name }) => name)).toEqual(["good", "bad"]);
  });

  it("ends with an error, to be resumed, where an end of the range does not run", async () => {
    const broken = judgeOf((included) => (included.length === 8 ? "error" : "pass"));
    const state = await openState(directory, fresh, false);
    await expect(runSearch(directory, state, subjectOf(8), broken, ports())).rejects.toMatchObject({
      code: "SEARCH_ENVIRONMENT_FAILED",
      exitCode: 1,
    });
    const resumed = await openState(directory, fresh, true);
    expect(resumed.steps.map(({ name }) => name)).toEqual(["good"]);
  });

  it("ends with an error where a state cannot be prepared for a reason outside of it, such as a full disk", async () => {
    const full = subjectOf(8, () => {
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    });
    const state = await openState(directory, fresh, false);
    await expect(runSearch(directory, state, full, culpritOf(3), ports())).rejects.toMatchObject({
      code: "SEARCH_ENVIRONMENT_FAILED",
      message: expect.stringContaining("no space left"),
      hint: expect.stringContaining("--resume"),
    });
    expect(scratches.filter(existsSync)).toEqual([]);
  });

  it("a search looks for the line at its bad end alone", async () => {
    const { good, other } = culpritOf(3);
    const named: number[] = [];
    const judge: StateJudge = {
      good,
      other: async (state, bundle, isNamed) => {
        const verdict = await other(state, bundle, isNamed);
        if (isNamed) named.push(Number.parseInt(verdict.sentence, 10));
        return verdict;
      },
    };
    await runSearch(directory, await openState(directory, fresh, false), subjectOf(8), judge, ports());
    expect(named).toEqual([8]);
  });

  it("continues after an interrupt in any step with the steps that ended, and removes what a kill left", async () => {
    for (let stop = 1; stop <= 7; stop += 1) {
      const at = `${directory}-${stop}`;
      const controller = new AbortController();
      let prepared = 0;
      const interrupted = subjectOf(40, () => {
        prepared += 1;
        if (prepared === stop) controller.abort("SIGINT");
      });
      const begun = await openState(at, fresh, false);
      const first = await runSearch(at, begun, interrupted, culpritOf(17), ports(controller.signal)).catch(
        (error: unknown) => error,
      );
      expect(first).toMatchObject({ code: "INTERRUPTED", exitCode: 130 });
      const left = mkdtempSync(path.join(tmpdir(), "stormlog-gate-bisect-"));
      const file = path.join(at, STATE_FILE);
      writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), scratch: left }));
      const resumed = await openState(at, fresh, true);
      expect(existsSync(left)).toBe(false);
      expect(resumed.steps.length).toBe(stop - 1);
      const { result, steps } = await runSearch(at, resumed, subjectOf(40), culpritOf(17), ports());
      expect(result).toMatchObject({ kind: "found", changes: [17] });
      expect(steps.length).toBeLessThanOrEqual(8);
    }
  });

  it("resumes only the same search in the same directory", async () => {
    await openState(directory, fresh, false);
    await expect(openState(directory, fresh, false)).rejects.toMatchObject({ code: "SEARCH_DIRECTORY_TAKEN" });
    await expect(openState(directory, { ...fresh, subject: "other" }, true)).rejects.toMatchObject({
      code: "SEARCH_DIFFERS",
    });
    const file = path.join(directory, STATE_FILE);
    const state = JSON.parse(readFileSync(file, "utf8"));
    writeFileSync(file, JSON.stringify({ ...state, machine: "another" }));
    await expect(openState(directory, fresh, true)).rejects.toMatchObject({ code: "SEARCH_DIFFERS" });
    writeFileSync(file, JSON.stringify({ ...state, scratch: path.dirname(directory) }));
    await openState(directory, fresh, true);
    expect(existsSync(directory)).toBe(true);
    writeFileSync(file, '{"version":1,"steps":[{}]}');
    await expect(openState(directory, fresh, true)).rejects.toMatchObject({ code: "SEARCH_STATE_INVALID" });
  });
});
