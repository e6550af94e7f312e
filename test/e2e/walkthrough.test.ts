import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { cli, freshDirectory } from "./cli.ts";

const PYTHON = "/usr/bin/python3";
const hasTorch = existsSync(PYTHON) && spawnSync(PYTHON, ["-c", "import torch"]).status === 0;
const TRAIN = path.join(packageRoot(), "leak-lab", "walkthrough", "train.py");
/** Only `npm run soak` tries: one clean run, a leak and its fix are among the commands of the walkthrough's page. */
const CLEAN_TRIES = Number(process.env.STORMLOG_TEST_CLEAN_TRIES ?? 0);

describe("the walkthrough's program without PyTorch", () => {
  it.each([
    ["PyTorch itself", "torch", /^PyTorch is not installed/],
    ["a module that PyTorch imports", "absent_dependency", /ModuleNotFoundError: No module named 'absent_dependency'$/],
  ])("the program names what is missing: %s", (_, missing, said) => {
    const directory = freshDirectory();
    const raised = `raise ModuleNotFoundError("No module named '${missing}'", name="${missing}")\n`;
    writeFileSync(path.join(directory, "torch.py"), raised);
    const { status, stderr } = spawnSync("python3", [TRAIN], {
      encoding: "utf8",
      env: { ...process.env, PYTHONPATH: directory, PYTHONDONTWRITEBYTECODE: "1" },
    });
    expect(stderr.trim()).toMatch(said);
    expect(status).toBe(1);
  });
});

describe.skipIf(!hasTorch || CLEAN_TRIES === 0)("the walkthrough in PyTorch", () => {
  const directory = freshDirectory();
  const command = ["--scenario", "walkthrough", "--", PYTHON, TRAIN, "--state", "baseline", "--device", "cpu"];

  beforeAll(async () => {
    const refresh = await cli(["baseline", "refresh", ...command], { cwd: directory });
    expect(refresh.stderr).toBe("");
    expect(refresh.code).toBe(0);
  }, 180_000);

  it(`passes the clean state against its own baseline and without a finding, in ${CLEAN_TRIES} of ${CLEAN_TRIES} tries`, async () => {
    const results: unknown[] = [];
    for (let attempt = 0; attempt < CLEAN_TRIES; attempt += 1) {
      const { code, stdout } = await cli(["run", "--json", "--bundle", `clean-${attempt}`, ...command], {
        cwd: directory,
      });
      const { findings } = JSON.parse(stdout).payload.scenarios[0];
      results.push({ code, findings });
    }
    expect(results).toEqual(Array.from({ length: CLEAN_TRIES }, () => ({ code: 0, findings: [] })));
  }, 600_000);
});
