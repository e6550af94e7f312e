import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "../../src/config/load.ts";
import { packageRoot } from "../../src/core/package-root.ts";
import { actionlintFindings, zizmorFindings } from "./testing/lint.ts";
import { Repository } from "./testing/repository.ts";
import { type Ended, HOW, ranInit, workflowTool } from "./testing/tools.ts";

const root = packageRoot();
const FILES = ["memory-accept.yml", "memory-baselines.yml", "memory-gate.yml", "memory-report.yml"];
const COMMIT = "0123456789abcdef0123456789abcdef01234567";

interface Step {
  readonly uses?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly "runs-on": string | readonly string[];
  readonly permissions: Readonly<Record<string, string>>;
  readonly "timeout-minutes": number;
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly name: string;
  readonly on: Readonly<Record<string, Readonly<Record<string, unknown>> | null>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

// Dozens of git and Node processes: on a busy machine each is slow.
vi.setConfig({ testTimeout: 90_000 });

let repository: Repository;
beforeEach(() => {
  repository = new Repository("trunk");
});
afterEach(() => repository.remove());

const init = (args: readonly string[] = [], cwd = repository.directory): Ended => ranInit(cwd, args);

const text = (name: string): string => readFileSync(path.join(repository.directory, ".github/workflows", name), "utf8");
const workflow = (name: string): Workflow => parse(text(name));
const workflowFiles = (): string[] => readdirSync(path.join(repository.directory, ".github/workflows")).sort();
const allSteps = (): readonly Step[] =>
  FILES.flatMap((name) => Object.values(workflow(name).jobs).flatMap((job) => job.steps));

function lintAll(): void {
  const files = workflowFiles().map((name) => `.github/workflows/${name}`);
  if (workflowTool("actionlint") !== null) expect(actionlintFindings(repository.directory, files)).toEqual([]);
  if (workflowTool("zizmor") !== null) expect(zizmorFindings(repository.directory, files)).toEqual([]);
}

const linted = workflowTool("actionlint") !== null && workflowTool("zizmor") !== null;

describe("init", () => {
  it("reports that kept workflows do not measure a second package", () => {
    for (const name of ["a", "b"]) mkdirSync(path.join(repository.directory, name));
    const ran = (name: string) => init([], path.join(repository.directory, name)).stdout.replace(/\s+/g, " ");
    expect(ran("a")).not.toContain("measures another directory");
    expect(ran("b")).toMatch(
      /memory-gate\.yml and \S+memory-baselines\.yml measures another directory and not this one/,
    );
    expect(ran("a")).not.toContain("measures another directory");
  });

  it("init writes the configuration and four workflows, and prints the next steps", () => {
    const { code, stdout } = init();
    expect(code).toBe(0);
    expect(workflowFiles()).toEqual(FILES);
    expect(stdout.match(/^wrote /gm)).toHaveLength(5);
    expect(stdout).toContain("added  the directories of evidence to .gitignore\n");
    repository.write("stormlog-bundle/report.json", "{}");
    expect(repository.git("status", "--porcelain", "--untracked-files=all")).not.toContain("stormlog-bundle");
    expect(stdout).toContain("merge into trunk");
    expect(stdout).toContain("--runner LABELS names yours");
    const config = loadConfig(path.join(repository.directory, "stormlog-gate.yml"));
    expect(config.scenarios.map(({ name }) => name)).toEqual(["train"]);
    // The default baseline is the nightly ref.
    expect(config.baseline).toBeUndefined();
  });

  it("init overwrites nothing without --force", () => {
    repository.write("stormlog-gate.yml", "mine\n");
    repository.write(".github/workflows/memory-gate.yml", "mine too\n");
    repository.write(".gitignore", "dist\r\n");
    const kept = init(["--json"]);
    expect(JSON.parse(kept.stdout).kept).toEqual(["stormlog-gate.yml", ".github/workflows/memory-gate.yml"]);
    expect(JSON.parse(kept.stdout).written).toContain(".gitignore");
    const ignored = readFileSync(path.join(repository.directory, ".gitignore"), "utf8");
    expect(ignored).toMatch(/^dist\r\n\r\n# Evidence of Stormlog Gate\r\nstormlog-bundle\/\r\n/);
    expect(text("memory-gate.yml")).toBe("mine too\n");
    const forced = init(["--force", "--json"]);
    expect(JSON.parse(forced.stdout)).toMatchObject({ kept: [] });
    expect(readFileSync(path.join(repository.directory, ".gitignore"), "utf8")).toBe(ignored);
    expect(text("memory-gate.yml")).toContain("name: Memory gate");
  });

  it("init gives the measuring job no write permission and the writing job no code of the change", () => {
    init();
    const { gate, report } = workflow("memory-gate.yml").jobs;
    expect(gate?.permissions).toEqual({ contents: "read", "pull-requests": "read" });
    expect(report?.permissions).toEqual({ contents: "write", "pull-requests": "write" });
    expect(report?.steps.map((step) => step.uses?.split("@")[0])).toEqual(["stormlog/gate/report"]);
    const { measure, store } = workflow("memory-baselines.yml").jobs;
    expect(measure?.permissions).toEqual({ contents: "read" });
    expect(measure?.steps.at(-1)?.with?.stage).toBe("measure");
    expect(store).toMatchObject({ needs: "measure", permissions: { contents: "write", issues: "write" } });
    // Besides the checkout, from which nothing is run.
    const uses = store?.steps.map((step) => step.uses?.split("@")[0]);
    expect(uses).toEqual(["actions/checkout", "stormlog/gate/refresh"]);
    expect(store?.steps.map((step) => Object.keys(step))).toEqual([
      ["uses", "with"],
      ["uses", "with"],
    ]);
    expect(store?.steps.at(-1)?.with?.stage).toBe("write");
    for (const name of ["memory-report.yml", "memory-accept.yml"]) {
      const used = Object.values(workflow(name).jobs).flatMap((job) => job.steps.map((step) => step.uses ?? ""));
      expect(used.filter((one) => !one.startsWith("stormlog/gate/"))).toEqual([]);
    }
    for (const name of FILES) expect(workflow(name).permissions, name).toEqual({});
    // The gate's limit ends before the job's, so that evidence is uploaded.
    expect(Number(gate?.steps.at(-1)?.with?.["timeout-minutes"])).toBeLessThan(gate?.["timeout-minutes"] ?? 0);
  });

  it("init's report listens to the workflow that init wrote", () => {
    init();
    const { workflow_run: on } = workflow("memory-report.yml").on;
    expect(on?.workflows).toEqual([workflow("memory-gate.yml").name]);
  });

  it("init passes only inputs that the Action and its sub-actions have", () => {
    init(["--runner", "self-hosted,gpu", "--visibility", "private"]);
    const steps = allSteps().filter((step) => step.uses?.startsWith("stormlog/gate"));
    const parts = new Set(steps.map((step) => (step.uses ?? "").split("@")[0]?.slice("stormlog/gate".length)));
    expect([...parts].sort()).toEqual(["", "/accept", "/refresh", "/report"]);
    for (const step of steps) {
      const directory = (step.uses ?? "").split("@")[0]?.slice("stormlog/gate".length) ?? "";
      const action = parse(readFileSync(path.join(root, directory, "action.yml"), "utf8"));
      expect(action.runs.using).toBe("node24");
      const unknown = Object.keys(step.with ?? {}).filter((name) => action.inputs[name] === undefined);
      expect(unknown, directory).toEqual([]);
    }
  });

  it("init writes the runner's labels and warns of untrusted code on it", () => {
    const { stdout } = init(["--runner", "self-hosted,gpu"]);
    for (const name of ["memory-gate.yml", "memory-baselines.yml"]) {
      expect(Object.values(workflow(name).jobs)[0]?.["runs-on"], name).toEqual(["self-hosted", "gpu"]);
    }
    expect(workflow("memory-gate.yml").jobs.report?.["runs-on"]).toBe("ubuntu-24.04");
    expect(stdout).toContain("code of unknown people");
    expect(init(["--runner", "a: b"]).code).toBe(2);
  });

  it("init configures pictures on the ref in a private repository", () => {
    const { stdout } = init(["--runner", "gpu", "--visibility", "private"]);
    expect(workflow("memory-gate.yml").jobs.report?.steps[0]?.with).toEqual({ image: "ref" });
    expect(stdout).not.toContain("unknown people");
  });

  it("init puts workflows at the top of the repository, with its own directory as working-directory", () => {
    const directory = path.join(repository.directory, "models/a b");
    mkdirSync(directory, { recursive: true });
    expect(init([], directory).code).toBe(0);
    expect(existsSync(path.join(directory, "stormlog-gate.yml"))).toBe(true);
    expect(workflow("memory-gate.yml").jobs.gate?.steps.at(-1)?.with?.["working-directory"]).toBe("models/a b");
    expect(workflow("memory-baselines.yml").on.push?.paths).toEqual(["models/a b/stormlog-gate.yml"]);
    if (linted) lintAll();
  });

  it("init reads the main branch from the remote", () => {
    repository.write("a", "");
    const commit = repository.commit("first");
    repository.git("update-ref", "refs/remotes/origin/release+next", commit);
    repository.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/release+next");
    init();
    expect(workflow("memory-baselines.yml").on.push?.branches).toEqual(["release\\+next"]);
    if (linted) lintAll();
  });

  it.skipIf(!linted).each([
    ["by default", []],
    ["with a GPU runner", ["--runner", "self-hosted,gpu", "--visibility", "public"]],
    ["in a private repository", ["--visibility", "private"]],
  ])(`init writes workflows that pass actionlint and zizmor %s (${HOW})`, (_case, args) => {
    init(args);
    lintAll();
  });

  it("init pins a released version by its commit, without an exemption from pinning", async () => {
    const { gateWorkflow } = await import("../../src/cli/init/workflows.ts");
    const written = gateWorkflow({
      runsOn: "gpu",
      ownRunner: true,
      defaultBranch: "main",
      visibility: "unknown",
      directory: "",
      pin: `${COMMIT} # v1.2.3`,
    });
    const used = [...written.matchAll(/^\s*- uses: (\S+)/gm)].map(([, name = ""]) => name);
    expect(used.every((name) => /@[0-9a-f]{40}$/.test(name))).toBe(true);
    expect(written).not.toContain("zizmor: ignore[unpinned-uses]");
    repository.write(".github/workflows/memory-gate.yml", written);
    if (linted) lintAll();
  });
});
