import { spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { AnalysisDocument } from "../../src/analysis/series/document.ts";
import { cli } from "./cli.ts";
import { type Gated, gate, linesOf, lineWith, repositoryWith } from "./gated.ts";

const PYTHON = "/usr/bin/python3";
const hasRanks = spawnSync(PYTHON, ["-c", "import torch.distributed.run"]).status === 0;

vi.setConfig({ testTimeout: 180_000 });

async function analysed({ bundle, cwd }: Gated): Promise<AnalysisDocument> {
  const result = await cli(["analyze", "--json", path.join(bundle, "runs", "default", "1")], { cwd });
  return JSON.parse(result.stdout);
}

describe.skipIf(!hasRanks || process.platform !== "linux")("ranks under one gate", () => {
  const place = "ranks.py";
  const torchrun = (ranks: number, ...args: string[]): string[] => [
    ...[PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", String(ranks)],
    // Debian's PyTorch under Python 3.11 fails over its own default of both: what a rank prints goes to a file as well.
    ...["-r", "1", "-t", "1"],
    ...[place, ...args],
  ];

  it("ranks under one gate fail by the one rank that leaks, and its line is named", async () => {
    const cwd = repositoryWith("test/e2e/fixtures/ranks.py", place);
    const run = await gate(cwd, torchrun(2, "--leaks", "1"), ["--repeats", "1"]);
    expect(run.code).toBe(4);
    const document = await analysed(run);
    const heaps = document.series.filter(({ device, metric }) => device === "host" && metric === "allocated");
    expect(heaps.map(({ rank }) => rank)).toEqual([0, 1]);
    expect(heaps.filter((series) => series.class === "leak").map(({ rank }) => rank)).toEqual([1]);
    expect(document.ranks).toMatchObject({ world_size: 2, missing_ranks: [] });
    expect(document.ranks.suspects?.[0]).toMatchObject({ rank: 1 });
    const failed = run.checks.filter(({ verdict }) => verdict === "fail");
    expect(failed.map(({ rank, metric }) => `${rank} ${metric}`)).toContain("1 allocated");
    expect(failed.filter(({ rank, metric }) => metric === "allocated" && rank !== 1)).toEqual([]);
    expect(run.summary).toMatch(/^fail: .* on rank 1/);
    const [line] = linesOf(run);
    expect(line, run.stderr).toMatchObject({ rank: 1, evidence: { line: lineWith(cwd, place, "kept.append") } });
    expect(run.info.probe?.processes.filter(({ role }) => role === "agent")).toHaveLength(1);
  }, 300_000);

  it("the rank that was killed is named", async () => {
    const cwd = repositoryWith("test/e2e/fixtures/ranks.py", place);
    const run = await gate(cwd, torchrun(4, "--dies", "3"), ["--verbose"]);
    expect(run.code).toBe(1);
    const document = await analysed(run);
    const heaps = document.series.filter(({ device, metric }) => device === "host" && metric === "allocated");
    expect(heaps.map(({ rank }) => rank)).toEqual([0, 1, 2, 3]);
    // The other ranks fail over the lost connection, and PyTorch may take one of them for the cause.
    const killed = run.info.lost.filter((text) =>
      /^rank \d+ \(process \d+\) ended (?:.* )?without an exit record/.test(text),
    );
    expect(killed).toHaveLength(1);
    expect(killed[0]).toMatch(/^rank 3 /);
    expect(run.stderr).toContain("note: rank 3 ");
  });
});
