import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { packageRoot } from "../../src/core/package-root.ts";
import { CATALOGUE } from "../../src/lab/catalogue.ts";

const root = packageRoot();

interface Job {
  readonly if?: string;
  readonly "runs-on": string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: { readonly include: readonly Readonly<Record<string, string>>[] } };
  readonly steps: readonly {
    readonly uses?: string;
    readonly run?: string;
    readonly with?: Readonly<Record<string, string>>;
  }[];
}

const jobs = (file: string): Readonly<Record<string, Job>> =>
  parse(readFileSync(path.join(root, ".github/workflows", file), "utf8")).jobs;
const words = (text: string | undefined): readonly string[] => (text ?? "").split(/[\s,]+/).filter(Boolean);
const patternsOf = (...frameworks: readonly string[]): readonly string[] =>
  CATALOGUE.filter(({ framework }) => frameworks.includes(framework)).map(({ name }) => name);

const legs = (job: Job | undefined, field: string): readonly string[] =>
  (job?.strategy?.matrix.include ?? []).flatMap((leg) => words(leg[field]));

describe("the workflows of the leak lab", () => {
  it.each([
    ["gate.yml", "gate", "scenarios"],
    ["baselines.yml", "refresh", "scenarios"],
    ["baselines.yml", "rounds", "patterns"],
  ])("%s, job %s, has every pattern of this kind of host in one of its legs", (file, name, field) => {
    expect([...legs(jobs(file)[name], field)].sort()).toEqual([...patternsOf("torch", "python", "node")].sort());
  });

  it("the lab's merge waits for every leg of the gate", () => {
    const { gate, memory } = jobs("gate.yml");
    const expected = memory?.steps.find(({ uses }) => uses === "./merge")?.with?.expect;
    expect(expected).toBe(gate?.strategy?.matrix.include.length);
  });

  it("the lab measures on the GPU every pattern that uses exactly one", () => {
    const { gate, refresh, round } = jobs("gpu-lab.yml");
    const alone = patternsOf("torch").filter((name) => CATALOGUE.find((entry) => entry.name === name)?.ranks === 1);
    for (const job of [gate, refresh])
      expect(words(job?.steps.find(({ uses }) => uses?.startsWith("./"))?.with?.scenario)).toEqual(alone);
    const command = round?.steps.find(({ run }) => run?.includes("lab run"))?.run ?? "";
    expect(command.split(/\s+/).filter((word) => CATALOGUE.some(({ name }) => name === word))).toEqual(alone);
  });

  it("the lab's GPU job is skipped without a GPU and for forks, and has no write permission", () => {
    for (const [name, job] of Object.entries(jobs("gpu-lab.yml"))) {
      expect(job["runs-on"], name).toEqual(["self-hosted", "gpu"]);
      expect(job.if, name).toContain("vars.STORMLOG_GPU_RUNNER == 'true'");
      const writes = Object.values(job.permissions ?? {}).includes("write");
      if (writes) expect(job.if, name).toContain("github.event_name != 'pull_request'");
      else expect(job.if, name).toContain("github.event.pull_request.head.repo.full_name == github.repository");
    }
  });
});
