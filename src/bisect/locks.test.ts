import { describe, expect, it } from "vitest";
import { lockDifference } from "./locks.ts";
import { unusable } from "./packages.ts";

const FILES = ["good.txt", "bad.txt"] as const;
const GOOD =
  "--no-index\nApp_Core==1.0 \\\n    --hash=sha256:aa\nlib==1.0 ; python_version < '3.9'\nold==1\nsame==1 # x\n";
const BAD = "--no-index\napp-core==2.0\nlib==1.0; python_version < '3.10'\nnew==3\nsame==1\n";

describe("two lock files of pip", () => {
  const difference = lockDifference(GOOD, BAD, FILES);

  it("two lock files of pip differ by changed, added and removed packages under their normal names", () => {
    expect(difference.changes).toEqual([
      { name: "app-core", good: "1.0", bad: "2.0" },
      { name: "lib", good: "1.0", bad: "1.0" },
      { name: "new", good: null, bad: "3" },
      { name: "old", good: "1", bad: null },
    ]);
  });

  it("two lock files of pip are mixed with hashes, markers and options as written", () => {
    expect(difference.mixture([])).toBe(
      "--no-index\nApp_Core==1.0      --hash=sha256:aa\nlib==1.0 ; python_version < '3.9'\nold==1\nsame==1\n",
    );
    expect(difference.mixture([0, 2, 3])).toBe(
      "--no-index\napp-core==2.0\nlib==1.0 ; python_version < '3.9'\nnew==3\nsame==1\n",
    );
  });

  it.each([
    ["flask>=2\n", "LOCK_UNSUPPORTED"],
    ["-r base.txt\n", "LOCK_UNSUPPORTED"],
    ['[[package]]\nname = "a"\n', "LOCK_UNSUPPORTED"],
    ["lockfileVersion: '9.0'\n", "LOCK_UNSUPPORTED"],
    ['{"packages": 3}', "LOCK_INVALID"],
    [GOOD, "LOCKS_EQUAL"],
  ])("lockDifference refuses %j as the second lock with a code", (bad, code) => {
    expect(() => lockDifference(GOOD, bad, FILES)).toThrow(expect.objectContaining({ code }));
  });

  it("packages of pip must move together where it names them as the conflict, and not for another failure", () => {
    const progress = "Collecting app-core==2.0\nCollecting lib==1.0\n";
    const conflict = "ERROR: ResolutionImpossible\n";
    const together = (output: string) => unusable({ ok: false, reason: "r", output }, difference).together;
    expect(together(`${progress}The user requested other\n  app-core 2.0 depends on other>=3\n${conflict}`)).toEqual([
      0,
    ]);
    expect(together(`${progress}${conflict}`)).toBeUndefined();
    expect(together(`${progress}app-core 2.0: error: subprocess-exited-with-error`)).toBeUndefined();
  });
});

describe("two lock files of npm", () => {
  const lock = (versions: Readonly<Record<string, string>>, range: string) =>
    JSON.stringify({
      lockfileVersion: 3,
      packages: {
        "": { name: "p", dependencies: { a: range } },
        ...Object.fromEntries(
          Object.entries(versions).map(([key, version]) => [
            key,
            { version, ...(key.endsWith("/a") ? { dependencies: { b: "*" } } : {}) },
          ]),
        ),
      },
    });
  const difference = lockDifference(
    lock({ "node_modules/a": "1.0.0", "node_modules/b": "1.0.0", "node_modules/c/node_modules/b": "0.9.0" }, "^1"),
    lock({ "node_modules/a": "2.0.0", "node_modules/b": "2.0.0" }, "^2"),
    FILES,
  );

  it("two lock files of npm move every copy of a package at once, with the range of the project", () => {
    expect(difference.changes).toEqual([
      { name: "a", good: "1.0.0", bad: "2.0.0" },
      { name: "b", good: "1.0.0 or 0.9.0", bad: "2.0.0" },
    ]);
    const packages = (included: readonly number[]) => JSON.parse(difference.mixture(included)).packages;
    expect(packages([1])).toMatchObject({
      "": { dependencies: { a: "^1" } },
      "node_modules/a": { version: "1.0.0" },
      "node_modules/b": { version: "2.0.0" },
    });
    expect(packages([1])["node_modules/c/node_modules/b"]).toBeUndefined();
    expect(packages([0])[""].dependencies).toEqual({ a: "^2" });
  });

  it("two lock files of npm join a package with those that depend on it where npm ci names it as unfit", () => {
    const output = "npm error Invalid: lock file's b@1.0.0 does not satisfy b@2.0.0";
    expect(unusable({ ok: false, reason: "r", output }, difference).together).toEqual([1, 0]);
  });
});

describe("a lock of a megabyte", () => {
  it.each([
    ["a nested value", `{"packages":${'{"node_modules/":'.repeat(50_000)}1${"}".repeat(50_000)}}`, "LOCK_INVALID"],
    ["a line of white space", `lib ${" ".repeat(900_000)}==`, "LOCK_UNSUPPORTED"],
  ])("a lock of a megabyte is refused with a code where it has %s", (_, bad, code) => {
    const good = bad.startsWith("{") ? '{"packages":{}}' : GOOD;
    expect(() => lockDifference(good, bad, FILES)).toThrow(expect.objectContaining({ code }));
  });

  it("a large lock of copies of one package is compared in about the time of distinct packages", () => {
    const lock = (version: string, name: (copy: number) => string) =>
      JSON.stringify({
        packages: Object.fromEntries(
          Array.from({ length: 10_000 }, (_, i) => [`a${i}/node_modules/${name(i)}`, { version: `${i}.${version}` }]),
        ),
      });
    const milliseconds = (name: (copy: number) => string): number => {
      const [good, bad] = [lock("0", name), lock("1", name)];
      const once = (): number => {
        const start = performance.now();
        expect(lockDifference(good, bad, FILES).changes.length).toBeGreaterThan(0);
        return performance.now() - start;
      };
      return Math.min(once(), once(), once());
    };
    const control = milliseconds((copy) => `lib${copy}`);
    expect(milliseconds(() => "lib")).toBeLessThan(20 * control);
  });
});
