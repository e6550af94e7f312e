import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { loadConfig } from "../src/config/load.ts";
import { packageRoot } from "../src/core/package-root.ts";
import { cli } from "./e2e/cli.ts";
import { actionlintFindings } from "./workflows/testing/lint.ts";
import { HOW, workflowTool } from "./workflows/testing/tools.ts";

const root = path.join(packageRoot(), "examples");
const examples = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const read = (...parts: string[]): string => readFileSync(path.join(root, ...parts), "utf8");
const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-examples-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A copy of an example outside this repository, as a user has it. */
function copyOf(name: string, to = name): string {
  const copy = path.join(directory, to);
  cpSync(path.join(root, name), copy, { recursive: true });
  return copy;
}

/** Have an example do less than what shows its user a slow growth. */
function shorten(copy: string, [from, to]: readonly [from: string, to: string]): void {
  const file = path.join(copy, "stormlog-gate.yml");
  const text = readFileSync(file, "utf8");
  expect(text).toContain(from);
  writeFileSync(file, text.replace(from, to));
}

/** Debian has no `python`: here it is the interpreter that has PyTorch, where one has. */
const programs = path.join(directory, "programs");
mkdirSync(programs);
const system = "/usr/bin/python3";
if (existsSync(system)) symlinkSync(system, path.join(programs, "python"));
const PATH = `${programs}${path.delimiter}${process.env.PATH ?? ""}`;
const has = (program: string, args: readonly string[]): boolean =>
  spawnSync(program, args, { env: { ...process.env, PATH } }).status === 0;

function filesOf(directory: string): string[] {
  return readdirSync(path.join(root, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

/** Examples whose jobs `init` would set up for a GPU runner; the others run on hosted machines. */
const ON_GPU = new Set(["pytorch", "huggingface-trainer", "lightning", "jax", "tensorflow"]);
/** In an example the user's installation is between the comment and the Action. */
const INSTALLATION = /(# Install what your command needs here[^\n]*\n)(?: {6}- run:[^\n]*\n)*/;

describe("the examples", () => {
  it("every example is listed on the page of examples", () => {
    const page = read("README.md");
    for (const name of examples) expect(page, name).toContain(`| [${name}](${name}) |`);
  });

  it.skipIf(!has("python3", ["--version"]))("the Python files of the examples compile", () => {
    const files = examples.flatMap(filesOf).filter((file) => file.endsWith(".py"));
    expect(files.length).toBeGreaterThan(5);
    const check = "import ast,sys\nfor f in sys.argv[1:]: ast.parse(open(f).read(), f)";
    execFileSync("python3", ["-c", check, ...files]);
  });

  it.skipIf(workflowTool("actionlint") === null)(`the workflows of the examples pass actionlint (${HOW})`, () => {
    for (const name of examples.filter((one) => existsSync(path.join(root, one, ".github")))) {
      const copy = copyOf(name, `${name}-lint`);
      execFileSync("git", ["init", "-q", copy]);
      const workflows = readdirSync(path.join(copy, ".github/workflows")).map((file) => `.github/workflows/${file}`);
      expect(actionlintFindings(copy, workflows), name).toEqual([]);
    }
  });

  describe.each(examples)("%s", (name) => {
    it("the example has a valid configuration, a README and no stray files", () => {
      expect(loadConfig(path.join(root, name, "stormlog-gate.yml"))).toBeDefined();
      expect(read(name, "README.md")).toMatch(/^# \S/);
      expect(filesOf(name).filter((file) => /(__pycache__|\.pyc|stormlog-bundle)/.test(file))).toEqual([]);
    });
  });

  it.each(examples.filter((name) => name !== "monorepo" && existsSync(path.join(root, name, ".github"))))(
    "%s has the workflows that init writes, with its own installation",
    async (name) => {
      const fresh = copyOf(name, `${name}-init`);
      rmSync(path.join(fresh, ".github"), { recursive: true });
      execFileSync("git", ["init", "-q", "-b", "main", fresh]);
      const choices = ON_GPU.has(name) ? ["--runner", "self-hosted,gpu", "--visibility", "private"] : [];
      expect(await cli(["init", ...choices], { cwd: fresh })).toMatchObject({ code: 0 });
      for (const file of ["memory-gate.yml", "memory-baselines.yml"]) {
        const ours = read(name, ".github/workflows", file);
        const written = readFileSync(path.join(fresh, ".github/workflows", file), "utf8");
        expect(ours.replace(INSTALLATION, "$1"), file).toBe(written);
      }
    },
  );

  interface Runnable {
    readonly name: string;
    readonly scenarios: number;
    readonly steps: boolean;
    readonly needs: boolean;
    readonly shorter?: readonly [from: string, to: string];
  }
  const runnable: readonly Runnable[] = [
    { name: "node-service", scenarios: 1, steps: true, needs: true, shorter: ['"6000"', '"3000"'] },
    { name: "monorepo", scenarios: 5, steps: false, needs: has("python3", ["--version"]) },
    { name: "cpp-binary", scenarios: 1, steps: true, needs: has("make", ["--version"]) && has("g++", ["--version"]) },
    { name: "pytest", scenarios: 1, steps: false, needs: has("python", ["-m", "pytest", "--version"]) },
    {
      name: "pytorch",
      scenarios: 1,
      steps: true,
      needs: has("python", ["-c", "import torch"]),
      shorter: ["--steps 300", "--steps 100"],
    },
    {
      name: "huggingface-trainer",
      scenarios: 1,
      steps: true,
      needs: has("python", ["-c", "import transformers, accelerate"]),
    },
    { name: "lightning", scenarios: 1, steps: true, needs: has("python", ["-c", "import lightning"]) },
    { name: "jax", scenarios: 1, steps: false, needs: has("python", ["-c", "import jax"]) },
    { name: "tensorflow", scenarios: 1, steps: false, needs: has("python", ["-c", "import tensorflow"]) },
  ];

  describe.each(runnable)("$name", ({ name, scenarios, steps, needs, shorter }) => {
    it.skipIf(!needs)(
      "the example is measured without a baseline",
      async () => {
        const copy = copyOf(name);
        if (existsSync(path.join(copy, "Makefile"))) execFileSync("make", ["--silent", "bench"], { cwd: copy });
        if (shorter !== undefined) shorten(copy, shorter);
        const args = ["run", "--json", "--baseline", "none", "--unjudged", "pass", "--repeats", "1"];
        const run = await cli([...args, "--base-run", "off", "--attribute", "off"], { cwd: copy, env: { PATH } });
        expect(run.code, run.stderr).toBe(0);
        const bundle = path.join(copy, "stormlog-bundle");
        expect(readdirSync(path.join(bundle, "runs"))).toHaveLength(scenarios);
        const analysed = await cli(["analyze", "--json", bundle], { cwd: copy });
        const { series } = JSON.parse(analysed.stdout) as { series: { metric: string; steps: number | null }[] };
        expect(series.some(({ metric }) => metric === "host")).toBe(true);
        if (steps) expect(series.some((one) => (one.steps ?? 0) > 10)).toBe(true);
      },
      120_000,
    );
  });

  it("the example service that leaks exceeds its budget", async () => {
    const copy = copyOf("node-service", "service-leak");
    const server = path.join(copy, "server.mjs");
    const source = readFileSync(server, "utf8");
    writeFileSync(server, source.replace(/^.*remembered\.delete.*\n/m, ""));
    const args = ["run", "--baseline", "none", "--repeats", "1", "--base-run", "off", "--attribute", "off"];
    const run = await cli(args, { cwd: copy });
    expect(run.code, run.stdout).toBe(4);
    expect(run.stdout).toContain("above the budget of 112 MiB");
  }, 120_000);
});
