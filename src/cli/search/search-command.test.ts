import { afterEach, describe, expect, it, vi } from "vitest";
import type { Console } from "../console/console.ts";
import { printSearch, searchEnvironment } from "./search-command.ts";

const console = (lines: string[], documents: unknown[] = []): Console => ({
  json: false,
  color: false,
  quiet: false,
  width: 80,
  interactive: false,
  progress: null,
  print: (text) => lines.push(text),
  document: (one) => documents.push(one),
  childOutput: () => () => {},
});

afterEach(() => vi.unstubAllEnvs());

describe("the environment of a search", () => {
  it("names in one line what is not passed on, and what the code may read all the same", () => {
    vi.stubEnv("STORMLOG_TEST_TOKEN", "a");
    vi.stubEnv("STORMLOG_TEST_WORKERS", "4");
    vi.stubEnv("MALLOC_ARENA_MAX", "2");
    const lines: string[] = [];
    const env = searchEnvironment({ console: console(lines) });
    expect(env.MALLOC_ARENA_MAX).toBe("2");
    expect(Object.keys(env).filter((name) => name.startsWith("STORMLOG_TEST_"))).toEqual([]);
    const [dropped, warning] = lines;
    expect(dropped).toMatch(/^Not passed on: .*STORMLOG_TEST_TOKEN, STORMLOG_TEST_WORKERS.*env NAME=VALUE CMD/);
    expect(warning).toMatch(/^warning: the searched code may read .*STORMLOG_TEST_TOKEN/);
  });
});

describe("the answer of a search", () => {
  it.each([
    [["core 1.0 → 2.0"], "found", 0],
    [["core 1.0 → 2.0", "extra 1.0 → 2.0"], "together", 6],
  ])("%j is printed as %s with status %i", (lines, result, status) => {
    const red = {
      name: "bad",
      included: [0, 1],
      outcome: "red",
      verdict: "fail",
      sentence: "Leak of 1 MiB/s.",
      minutes: 1,
      bundle: null,
    } as const;
    const bad = { ...red, sentence: "Leak of 1 MiB/s at app.py:3." };
    const changes = lines.map((_, at) => at);
    const [printed, documents]: [string[], unknown[]] = [[], []];
    const finished = {
      result: { kind: "found", changes, probability: 0.99, red, bad },
      steps: [red],
      directory: "out",
    } as const;
    expect(printSearch({ console: console(printed, documents) }, finished, { lines, changes })).toBe(status);
    expect(printed).toEqual(
      expect.arrayContaining([...lines, "  Leak of 1 MiB/s.", "  bad: Leak of 1 MiB/s at app.py:3."]),
    );
    expect(documents).toMatchObject([{ result, changes }]);
  });
});
