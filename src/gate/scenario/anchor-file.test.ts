import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Environment } from "../../core/process/environment.ts";
import { viewRepository } from "../../git/repository-view.ts";
import { ANCHORS_FILE } from "./anchor.ts";
import { anchorOf, serializeAnchors } from "./anchor-changes.ts";
import { anchorFor, readAnchors as anchorsOf } from "./anchor-file.ts";

const readAnchors = async (root: string, env: Environment) => anchorsOf(await viewRepository(root, env));

const text = (peak: number, backend = "cpu"): string =>
  serializeAnchors([
    anchorOf(
      "train",
      { backend },
      [{ session: "s", commit: null, series: [{ rank: 0, device: "host", metric: "host", peak_bytes: peak }] }],
      { setIso: "2026-11-21T00:00:00Z", commit: null },
    ),
  ]);

describe("the anchors in force for a change", () => {
  let top: string;
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@x", "-C", top, ...args], { encoding: "utf8" });
  const commit = (peak: number | null, at = ""): void => {
    mkdirSync(path.join(top, at), { recursive: true });
    if (peak !== null) writeFileSync(path.join(top, at, ANCHORS_FILE), text(peak));
    git("add", "--all");
    git("commit", "--quiet", "--allow-empty", "--message", "x");
  };
  const peakOf = async (root: string, env: Record<string, string>): Promise<number | undefined> =>
    (await readAnchors(root, env)).anchors[0]?.series[0]?.[3];

  beforeEach(() => {
    top = mkdtempSync(path.join(tmpdir(), "stormlog-anchors-"));
    git("init", "--quiet", "--initial-branch=main");
  });
  afterEach(() => rmSync(top, { recursive: true, force: true }));

  it("the anchors in force are those of the working tree on the main branch", async () => {
    commit(100);
    expect(await peakOf(top, {})).toBe(100);
    expect((await readAnchors(path.join(top, "nowhere"), {})).anchors).toEqual([]);
  });

  it("the anchors in force are those of the base on a pull request, also in a subdirectory", async () => {
    commit(100);
    commit(50, "sub");
    git("checkout", "--quiet", "-b", "topic");
    commit(900);
    commit(900, "sub");
    const env = { STORMLOG_GATE_BASE: "main" };
    expect(await peakOf(top, env)).toBe(100);
    expect(await peakOf(path.join(top, "sub"), env)).toBe(50);
    const { warnings } = await readAnchors(top, env);
    expect(warnings).toEqual([expect.stringContaining("are used until it is merged")]);
    git("rm", "--quiet", ANCHORS_FILE);
    git("commit", "--quiet", "--message", "no limit");
    expect(await peakOf(top, env)).toBe(100);
  });

  it("the anchors in force are the change's where the base has none, or is not available (with a warning)", async () => {
    commit(null);
    git("checkout", "--quiet", "-b", "topic");
    commit(70);
    expect(await readAnchors(top, { STORMLOG_GATE_BASE: "main" })).toMatchObject({ warnings: [] });
    expect(await peakOf(top, { STORMLOG_GATE_BASE: "main" })).toBe(70);
    const unknown = await readAnchors(top, { STORMLOG_GATE_BASE: "origin/gone" });
    expect(unknown.warnings).toEqual([expect.stringContaining("fetch-depth: 0")]);
  });

  it("readAnchors rejects a file that cannot be read", async () => {
    writeFileSync(path.join(top, ANCHORS_FILE), "{");
    await expect(readAnchors(top, {})).rejects.toMatchObject({ code: "ANCHORS_INVALID" });
  });

  it("anchorFor warns when a scenario has anchors of other environments only", async () => {
    commit(100);
    const book = await readAnchors(top, {});
    expect(anchorFor(book, { name: "train" }, { backend: "cuda" })).toMatchObject({
      measurements: null,
      warnings: [expect.stringContaining("other environments")],
    });
    expect(anchorFor(book, { name: "serve" }, { backend: "cpu" })).toEqual({ measurements: null, warnings: [] });
    expect(anchorFor(book, { name: "train" }, { backend: "cpu" }).measurements?.runs).toHaveLength(1);
  });
});
