import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { builtSteps } from "./testing/build-steps.ts";
import { GitHubDouble } from "./testing/github-double.ts";
import { Job } from "./testing/job.ts";
import { runStepFile, type StepOptions, type StepResult } from "./testing/mini-runner.ts";
import { ResultsDouble } from "./testing/results-double.ts";
import { actionNode, azuriteBlobScript } from "./testing/tools.ts";
import { directoryHashes, zipHashes } from "./testing/unzip.ts";

const _ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = await builtSteps();

/** The runner and the step wait twice as long: what tests beside this one cost the machine does not count. */
const CLOCK = 0.5;
const node = actionNode();
const azurite = azuriteBlobScript();

/**
 * A program that ends at once `quick` times, and then starts a tree that stays: it ignores SIGINT and SIGTERM, and so
 * does a child in its own session. Both have a mark in their command lines.
 */
const WORKLOAD = `
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
const [, , directory, quick, word] = process.argv;
const counter = directory + "/count";
const count = existsSync(counter) ? Number(readFileSync(counter, "utf8")) + 1 : 1;
writeFileSync(counter, String(count));
const keep = Buffer.alloc(64 * 2 ** 20, 1);
if (count <= Number(quick)) {
  setTimeout(() => keep.length, 300);
} else {
  const stay = "process.on('SIGINT',()=>{});process.on('SIGTERM',()=>{});setInterval(()=>{},1000);";
  spawn(process.execPath, ["-e", stay, word], { detached: true, stdio: "ignore" }).unref();
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => keep.length);
  setInterval(() => keep.length, 1000);
  setTimeout(() => writeFileSync(directory + "/staying", ""), 400);
}
`;

/** Command lines of living processes with the mark. */
function living(word: string): readonly string[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
      const line = readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
      const dead = /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
      return line.includes(word) && !dead ? [line] : [];
    } catch {
      return [];
    }
  });
}

interface Report {
  readonly payload: {
    readonly verdict: string;
    readonly confirmed: boolean;
    readonly cost: { readonly runs: number; readonly minutes: number };
    readonly warnings: readonly string[];
    readonly scenarios: readonly {
      readonly scenario: string;
      readonly verdict: string;
      readonly error: { readonly code: string } | null;
      readonly runs: readonly {
        readonly directory: string;
        readonly info: { readonly exit: { readonly kind: string } };
      }[];
    }[];
  };
}

describe.skipIf(azurite === null || process.platform !== "linux")("a step that is ended from outside", () => {
  const github = new GitHubDouble();
  const results = new ResultsDouble();
  let job: Job;
  let word: string;

  beforeAll(async () => {
    await Promise.all([results.startWithBlobs(node, azurite as string), github.start()]);
    github.tokens.set("job", { login: "github-actions[bot]", write: true });
  }, 60_000);

  afterAll(async () => {
    await github.stop();
    await results.stop();
  });

  beforeEach(() => {
    results.artifacts.length = 0;
    job = new Job(github.url, results.url);
    word = `stay-${randomBytes(8).toString("hex")}`;
    writeFileSync(path.join(job.directory, "work.mjs"), WORKLOAD);
    // A baseline of a megabyte: every run of the workload breaches it at once, and has to be confirmed.
    const peaks = ["a", "a", "b", "b", "c"].map((session, at) => ({
      session,
      series: [
        { rank: 0, device: "host", metric: "host", peak_bytes: 2 ** 20 + at * 4096, growth_bytes: 0, class: "flat" },
      ],
    }));
    writeFileSync(
      path.join(job.directory, "baseline.json"),
      JSON.stringify({ schema: "stormlog.measurements/1", scenario: "default", runs: peaks }),
    );
    return () => {
      for (const pid of living(word)) throw new Error(`left running: ${pid}`);
      job.remove();
    };
  });

  const main = (quick: number, more: Partial<StepOptions> = {}): Promise<StepResult> =>
    runStepFile({
      node,
      script: path.join(BUILT, "action/main.js"),
      cwd: job.directory,
      env: { ...job.env, GITHUB_WORKSPACE: job.directory },
      clock: CLOCK,
      ...more,
      inputs: {
        token: "job",
        run: `exec ${node} work.mjs ${job.directory} ${quick} ${word}`,
        baseline: "baseline.json",
        probe: "off",
        attribute: "off",
        ...more.inputs,
      },
    });

  const staying = async (): Promise<void> => {
    while (!existsSync(path.join(job.directory, "staying"))) await new Promise((resolve) => setTimeout(resolve, 25));
  };

  const reportOf = (result: StepResult): Report["payload"] =>
    JSON.parse(readFileSync(path.join(result.outputs["bundle-path"] ?? "", "report.json"), "utf8")).payload;

  /** The evidence on disk is complete, and the step itself uploaded all of it. */
  async function expectEvidence(result: StepResult, runs: number, scenario = "default"): Promise<void> {
    const bundle = result.outputs["bundle-path"] ?? "";
    const manifest = JSON.parse(readFileSync(path.join(bundle, "manifest.json"), "utf8"));
    expect(manifest.exit_code).not.toBeNull();
    const directories = readdirSync(path.join(bundle, "runs", scenario)).filter((name) => !name.endsWith(".json"));
    expect(directories).toHaveLength(runs);
    for (const run of directories) {
      const files = readdirSync(path.join(bundle, "runs", scenario, run));
      expect(files).toEqual(expect.arrayContaining(["recording.json", "output.log", "samples.parquet"]));
    }
    expect(result.outputs["artifact-id"], result.log).not.toBe("");
    expect(zipHashes(await results.read("stormlog-default"))).toEqual(directoryHashes(bundle));
  }

  it("a step cancelled in its first run leaves no process and all of its evidence", async () => {
    const result = await main(0, { cancel: staying });
    expect(result, result.log).toMatchObject({ code: 130, outputs: { verdict: "error", "exit-code": "130" } });
    expect(result.signals).not.toContain("SIGKILL");
    expect(living(word)).toEqual([]);
    await expectEvidence(result, 1);
  }, 60_000);

  it("a step cancelled while it confirms a breach reports no verdict and keeps both runs as evidence", async () => {
    const result = await main(1, { cancel: staying });
    expect(result, result.log).toMatchObject({ code: 130, outputs: { verdict: "error", "exit-code": "130" } });
    expect(result.signals).not.toContain("SIGKILL");
    expect(living(word)).toEqual([]);
    expect(reportOf(result).scenarios[0]?.runs.map(({ info }) => info.exit.kind)).toEqual(["exited", "interrupted"]);
    await expectEvidence(result, 2);
  }, 60_000);

  it("a step whose timeout-minutes expire while it confirms a breach fails, unconfirmed", async () => {
    const result = await main(1, { inputs: { "timeout-minutes": "0.18" } });
    expect(result, result.log).toMatchObject({
      code: 4,
      outputs: { verdict: "fail", confirmed: "false", "exit-code": "4" },
    });
    expect(result.log).toContain("STEP_TIMEOUT");
    expect(living(word)).toEqual([]);
    const { scenarios, cost, warnings } = reportOf(result);
    expect(cost.runs).toBe(2);
    expect(scenarios[0]?.runs.map(({ info }) => info.exit.kind)).toEqual(["exited", "interrupted"]);
    expect(warnings.join("\n")).toContain("timeout-minutes is over, so the breach stays unconfirmed");
    expect(result.summary).toMatch(/2 runs in/);
    // The job that merges finds the section.
    const section = JSON.parse((await results.read("stormlog-section-default.json")).toString());
    expect(section.report).toMatchObject({ verdict: "fail", confirmed: false });
    await expectEvidence(result, 2);
  }, 60_000);

  it("a step whose timeout-minutes expire in its first run is an error, as is every later scenario", async () => {
    const run = [process.execPath, "work.mjs", job.directory, "0", word];
    const scenarios = ["first", "second"].map((name) => ({ name, run }));
    writeFileSync(path.join(job.directory, "stormlog-gate.yml"), JSON.stringify({ scenarios }));
    const result = await main(0, { inputs: { "timeout-minutes": "0.1", run: "" } });
    expect(result, result.log).toMatchObject({ code: 1, outputs: { verdict: "error", "exit-code": "1" } });
    expect(reportOf(result).scenarios.map(({ scenario, error }) => [scenario, error?.code])).toEqual([
      ["first", "STEP_TIMEOUT"],
      ["second", "STEP_TIMEOUT"],
    ]);
    expect(living(word)).toEqual([]);
    await expectEvidence(result, 1, "first");
  }, 60_000);

  it("a step whose max-minutes expire while it confirms a breach fails, unconfirmed, and publishes that", async () => {
    // The second run is made only where another one like the first still fits: 15 s of real time. Its own limit is
    // kept by the step's clock.
    const result = await main(1, { inputs: { "max-minutes": "0.5" }, clock: 4 });
    expect(result, result.log).toMatchObject({ code: 4, outputs: { verdict: "fail", confirmed: "false" } });
    const { scenarios, warnings } = reportOf(result);
    expect(scenarios[0]?.runs.map(({ info }) => info.exit.kind)).toEqual(["exited", "timeout"]);
    expect(warnings.join("\n")).toContain("the limit of 0.5 minutes is reached, so the breach stays unconfirmed");
    expect(result.summary).toMatch(/2 runs in/);
    expect(living(word)).toEqual([]);
    expect(results.artifacts.map(({ name }) => name)).toContain("stormlog-default");
  }, 60_000);
});
