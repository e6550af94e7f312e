import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Attempt, canBeHostile, HostileStep } from "../action/testing/hostile-step.ts";
import type { StepResult } from "../action/testing/mini-runner.ts";

/**
 * A change that allocates 280 MiB more than its baseline, and measured code that alters what the gate judges it by. The
 * honest answer is exit 4. Each attempt is named right after the verdict's sentence.
 */

const NODE = JSON.stringify([process.execPath, "work.mjs"]);
const config = (scenarios: string): string => `scenarios:\n${scenarios}baseline: file:baselines\n`;
const train = (more = ""): string => `  - name: train\n    run: ${NODE}\n${more}`;

/** Functions of an attack module: the records, and the directory of the run that is being measured. */
const TOOLS = `import * as fs from "node:fs";
import path from "node:path";
const records = (job) => fs.readdirSync(path.join(job.workspace, "baselines/train"))
  .filter((name) => name.endsWith(".json")).map((name) => path.join(job.workspace, "baselines/train", name));
/** The record with all of its peaks 400 MiB higher. */
const higher = (file) => {
  const record = JSON.parse(fs.readFileSync(file, "utf8"));
  for (const { runs } of record.epochs)
    for (const { values } of runs) for (const value of values) if (value !== null && value[0] !== null) value[0] += 400 * 2 ** 20;
  return JSON.stringify(record);
};
const below = (directory, name) => fs.readdirSync(directory, { recursive: true })
  .filter((file) => path.basename(file) === name).map((file) => path.join(directory, file));
const recording = (job) => below(job.temp, "samples.rec").at(-1);
const bundle = (job) => path.dirname(below(job.temp, "manifest.json").at(-1));
`;

const summaryOf = ({ summary }: StepResult): string => summary.replaceAll("\\", "");

describe.skipIf(!canBeHostile)("a breach stays red", { timeout: 240_000 }, () => {
  let step: HostileStep;
  beforeAll(async () => {
    step = await HostileStep.start({ config: config(train()) });
  }, 240_000);
  afterAll(() => step.stop());

  const attempt = (given: Attempt): Promise<StepResult> =>
    step.attempt({
      breach: true,
      ...given,
      inputs: { repeats: "1", ...given.inputs },
      prepare: (paths) => {
        step.git("update-ref", "refs/remotes/origin/main", "main");
        given.prepare?.(paths);
      },
    });
  const attack = (body: string, more: Attempt = {}): Promise<StepResult> =>
    attempt({ attack: `${TOOLS}${body}`, ...more });

  it.each<[string, string, RegExp]>([
    [
      "rewrites its records at its end, adds one with higher numbers, anchors and a looser configuration",
      `export const after = (job) => {
        for (const file of records(job)) {
          fs.writeFileSync(file, higher(file));
          fs.writeFileSync(path.join(path.dirname(file), "ffffffffffffffff.json"), higher(file));
        }
        fs.writeFileSync(path.join(job.workspace, "stormlog-anchors.json"), "{}");
        fs.appendFileSync(path.join(job.workspace, "stormlog-gate.yml"), "policy: { unjudged: pass }\\n");
      };`,
      /baselines\/train\/[0-9a-f]{16}\.json and 1 more file were rewritten during the run[\s\S]*ffffffffffffffff\.json and 1 more file were added/,
    ],
    [
      "puts a link to other records in place of their directory",
      `export const before = (job) => {
        const at = path.join(job.workspace, "baselines");
        if (fs.lstatSync(at).isSymbolicLink()) return;
        fs.cpSync(at, path.join(job.loot, "evil"), { recursive: true });
        fs.renameSync(at, path.join(job.loot, "old"));
        fs.symlinkSync(path.join(job.loot, "evil"), at);
        for (const file of records(job)) fs.writeFileSync(file, higher(file));
      };`,
      /\.json was rewritten during the run/,
    ],
    [
      "deletes the baselines, and the objects and branches of the repository",
      `export const before = (job) => {
        fs.rmSync(path.join(job.workspace, "baselines"), { recursive: true, force: true });
        fs.rmSync(path.join(job.workspace, ".git/refs/remotes"), { recursive: true, force: true });
        fs.rmSync(path.join(job.workspace, ".git/objects"), { recursive: true, force: true });
      };`,
      /\.json was removed during the run; the copy read before the run was used/,
    ],
  ])("a breach stays red when the command %s", async (_, body, named) => {
    const result = await attack(body);
    expect(result.code, result.log).toBe(4);
    expect(result.outputs.verdict).toBe("fail");
    expect(summaryOf(result)).toMatch(named);
  });

  it.each<[string, string, string]>([
    [
      "replaces the samples by a copy from before it allocated",
      `export const before = async (job) => {
        await new Promise((resolve) => setTimeout(resolve, 250));
        fs.copyFileSync(recording(job), path.join(job.loot, "early"));
      };
      export const after = (job) => {
        const file = recording(job);
        fs.rmSync(file);
        fs.copyFileSync(path.join(job.loot, "early"), file);
      };`,
      "samples.rec was replaced during the run",
    ],
    [
      "removes the directory of the run",
      `export const after = (job) => fs.rmSync(path.dirname(recording(job)), { recursive: true, force: true });`,
      "samples.rec was removed during the run",
    ],
    [
      "appends samples, and puts a forged report into the bundle",
      `export const after = (job) => {
        fs.appendFileSync(recording(job), Buffer.alloc(4800000));
        fs.writeFileSync(path.join(bundle(job), "report.json"), '{"schema":"stormlog.report/1"}');
        fs.mkdirSync(path.join(bundle(job), "summary.md"));
      };`,
      "report.json, summary.md appeared in the bundle during the run",
    ],
    [
      "puts a file in place of the bundle",
      `export const after = (job) => {
        const at = bundle(job);
        fs.renameSync(at, at + ".old");
        fs.writeFileSync(at, "");
      };`,
      "directory was replaced during the run",
    ],
  ])("a breach stays red when the command %s", async (_, body, named) => {
    const result = await attack(body);
    expect(result.code, result.log).toBe(4);
    expect(result.outputs.verdict).toBe("fail");
    expect(summaryOf(result)).toContain(named);
  });

  it.each<[string, string]>([
    [
      "flips a bit of a sample",
      `export const after = (job) => {
        const fd = fs.openSync(recording(job), "r+");
        const byte = Buffer.alloc(1);
        fs.readSync(fd, byte, 0, 1, 90);
        byte[0] ^= 64;
        fs.writeSync(fd, byte, 0, 1, 90);
      };`,
    ],
    [
      "cuts the samples to those before it allocated, again and again",
      `export const before = (job) => {
        const file = recording(job);
        const size = fs.statSync(file).size;
        setInterval(() => fs.truncateSync(file, size), 5).unref();
      };
      export const after = (job) => fs.truncateSync(recording(job), 64 + 480);`,
    ],
  ])("a breach is an error that names the attempt when the command %s", async (_, body) => {
    const result = await attack(body);
    expect(result.code, result.log).toBe(1);
    expect(result.outputs.verdict).toBe("error");
    expect(summaryOf(result)).toContain("samples.rec was altered during the run");
  });

  it("a breach stays red when the change rewrites, adds or deletes records, which are listed and do not count", async () => {
    const name = step.git("ls-tree", "-r", "--name-only", "main", "--", "baselines").split("\n")[0] ?? "";
    const record = JSON.parse(step.git("show", `main:${name}`));
    for (const { runs } of record.epochs) {
      for (const { values } of runs) for (const value of values) if (value?.[0]) value[0] += 400 * 2 ** 20;
    }
    const text = JSON.stringify(record);
    const rewritten = await attempt({ files: { [name]: text, "baselines/train/ffffffffffffffff.json": text } });
    expect(rewritten.code, rewritten.log).toBe(4);
    expect(rewritten.outputs.verdict).toBe("fail");
    expect(summaryOf(rewritten)).toMatch(/\/stormlog accept [0-9a-f]{32}-policy <reason>/);
    expect(summaryOf(rewritten)).toContain("baselines/train/ffffffffffffffff.json");
    expect(rewritten.log).toContain(`not in force: ${name}`);
    const deleted = await attempt({ files: { baselines: null }, inputs: { unjudged: "pass" } });
    expect(deleted.code, deleted.log).toBe(4);
    expect(summaryOf(deleted)).toContain(name);
  });

  it("a breach stays red when the change puts blanks around the command", async () => {
    const shell = `${process.execPath} work.mjs`;
    const plain = await HostileStep.start({ config: config(`  - name: train\n    run: ${shell}\n`) });
    try {
      const result = await plain.attempt({
        breach: true,
        inputs: { repeats: "1" },
        files: { "stormlog-gate.yml": config(`  - name: train\n    run: "  ${shell} \\t"\n`) },
        prepare: () => plain.git("update-ref", "refs/remotes/origin/main", "main"),
      });
      expect(result.code, result.log).toBe(4);
      expect(result.summary).not.toContain("-policy");
    } finally {
      await plain.stop();
    }
  });

  it.each([
    ["renames its scenario", "train2", "", 'renames the scenario "train"'],
    [
      "edits the environment of its scenario",
      "train",
      "    env: { MALLOC_ARENA_MAX: '1' }\n",
      "alters what the scenario",
    ],
  ])("a breach is unjudged with exit 6 when the change %s, until that is accepted", async (_, name, more, reason) => {
    const files = {
      "stormlog-gate.yml": config(`  - name: ${name}\n    run: ${NODE}\n${more}policy: { unjudged: pass }\n`),
    };
    const { code, log, outputs, ...result } = await attempt({ files, inputs: { unjudged: "warn" } });
    expect([code, outputs.verdict], log).toEqual([6, "unjudged"]);
    const summary = summaryOf({ code, log, outputs, ...result });
    expect(summary).toContain(reason);
    expect(summary.match(/\/stormlog accept [0-9a-f]{32}-policy <reason>/g)?.length).toBeGreaterThan(0);
  });
});
