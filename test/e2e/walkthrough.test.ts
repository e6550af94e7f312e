import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { type CliResult, cli, freshDirectory } from "./cli.ts";

const PYTHON = "/usr/bin/python3";
const hasTorch = existsSync(PYTHON) && spawnSync(PYTHON, ["-c", "import torch"]).status === 0;
const TRAIN = path.join(packageRoot(), "leak-lab", "walkthrough", "train.py");
/** `npm run soak` tries more often. */
const CLEAN_TRIES = Number(process.env.STORMLOG_TEST_CLEAN_TRIES ?? 1);

describe.skipIf(!hasTorch)("the walkthrough in PyTorch", () => {
  const directory = freshDirectory();
  const gate = (state: string, bundle: string): Promise<CliResult> =>
    cli(
      [
        "run",
        "--json",
        "--scenario",
        "walkthrough",
        "--bundle",
        bundle,
        "--",
        PYTHON,
        TRAIN,
        "--state",
        state,
        "--device",
        "cpu",
      ],
      { cwd: directory },
    );

  beforeAll(async () => {
    const refresh = await cli(
      [
        "baseline",
        "refresh",
        "--scenario",
        "walkthrough",
        "--",
        PYTHON,
        TRAIN,
        "--state",
        "baseline",
        "--device",
        "cpu",
      ],
      { cwd: directory },
    );
    expect(refresh.stderr).toBe("");
    expect(refresh.code).toBe(0);
  }, 180_000);

  it("fails the leaky state and names its growth, its class and the leaking line", async () => {
    const result = await gate("leaky", "leaky");
    expect(result.code).toBe(4);
    const { payload } = JSON.parse(result.stdout);
    expect(payload.verdict).toBe("fail");
    const summary = readFileSync(path.join(directory, "leaky", "summary.md"), "utf8");
    expect(summary).toMatch(/growth/i);
    expect(summary).toMatch(/leak/);
    const [line] = payload.scenarios[0].findings.filter(
      ({ classification }: { classification: string }) => classification === "leak_line",
    );
    expect(line?.evidence.code).toContain("self.hidden_cache.append");
  }, 180_000);

  it("passes the fixed state", async () => {
    const result = await gate("fixed", "fixed");
    expect(result.stderr).not.toMatch(/^error /m);
    expect(result.code).toBe(0);
  }, 180_000);

  it(`passes the clean state against its own baseline and without a finding, in ${CLEAN_TRIES} of ${CLEAN_TRIES} tries`, async () => {
    const results: unknown[] = [];
    for (let attempt = 0; attempt < CLEAN_TRIES; attempt += 1) {
      const { code, stdout } = await gate("baseline", `clean-${attempt}`);
      const { findings } = JSON.parse(stdout).payload.scenarios[0];
      results.push({ code, findings });
    }
    expect(results).toEqual(Array.from({ length: CLEAN_TRIES }, () => ({ code: 0, findings: [] })));
  }, 600_000);
});
