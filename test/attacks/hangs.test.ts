import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Attempt, canBeHostile, HostileStep } from "../action/testing/hostile-step.ts";
import type { StepResult } from "../action/testing/mini-runner.ts";

/** Of the cancellation by the harness, which a step must not need. */
const CANCEL_MS = 75_000;
const LIMIT_MS = CANCEL_MS + 30_000;

/** What an attack can leave in a file's place. */
const LEAVE = `import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
const gone = (file) => { rmSync(file, { recursive: true, force: true }); mkdirSync(path.dirname(file), { recursive: true }); };
export const fifo = (file) => { gone(file); execFileSync("mkfifo", [file]); };
export const zero = (file) => { gone(file); symlinkSync("/dev/zero", file); };
export const sparse = (file) => { gone(file); writeFileSync(file, ""); truncateSync(file, 100e9); };
export const below = (directory) => readdirSync(directory, { recursive: true }).map((name) => path.join(directory, name));
export const runs = ({ temp }) => below(temp).filter((name) => path.basename(name) === "output.log").map((name) => path.dirname(name));
`;

const after = (body: string): string =>
  `import { below, fifo, runs, sparse, zero } from "./leave.mjs";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
export const after = (job) => { for (const run of runs(job)) { try { ${body} } catch {} } };`;

/** Names that the gate writes into a run's directory when the command has ended. */
const LATER = ["samples.parquet", "samples.parquet.part", "events.json", "recording.json", "oom/oom.json"]
  .map((name) => `fifo(run + "/${name}");`)
  .join(" ");

describe.skipIf(!canBeHostile)("a change that leaves files on which a reader would wait for ever", () => {
  let step: HostileStep;

  beforeAll(async () => {
    step = await HostileStep.start({ files: { "leave.mjs": LEAVE } });
  }, 120_000);
  afterAll(() => step.stop());

  const attempt = (attack: Attempt): Promise<StepResult> => step.attempt({ ...attack, step: { timeoutMs: CANCEL_MS } });

  /** It ended by itself, with workflow commands resumed (the harness throws where they are not) and outputs set. */
  function expectEnded(result: StepResult): void {
    expect(result.signals, result.log).toEqual([]);
    expect(result.signal).toBeNull();
    expect(result.log).not.toMatch(/INTERNAL|\n\s+at /);
  }

  it.each([
    ["a FIFO as output.log, and fails", "fifo(run + '/output.log'); process.exitCode = 3;", [1]],
    ["a FIFO as samples.rec", "fifo(run + '/samples.rec');", [4]],
    ["a link to /dev/zero as samples.rec", "zero(run + '/samples.rec');", [4]],
    ["a FIFO as every file that the gate writes later", LATER, [4]],
    ["a FIFO as its own baseline", "for (const one of below('baselines')) if (one.endsWith('.json')) fifo(one);", [4]],
    [
      "a FIFO as a ring file and as the file of its steps",
      "fifo(run + '/probe/1.1.ring'); fifo(run + '/probe/step');",
      [4],
    ],
    ["FIFOs as the next runs' logs", "for (const n of [2, 3]) { fifo(run + '/../' + n + '/output.log'); }", [1, 4]],
  ] as const)(
    "a breach whose command leaves %s ends by itself and is not a pass",
    async (name, body, codes) => {
      // One run is enough where the next ones are not attacked.
      const inputs = name.includes("next runs") ? {} : { repeats: "1" };
      const result = await attempt({ breach: true, attack: after(body), inputs });
      expectEnded(result);
      expect(codes, result.log).toContain(result.code);
      expect(result.outputs.verdict).not.toBe("pass");
    },
    LIMIT_MS,
  );

  it(
    "a breach whose command leaves sparse, unreadable and countless files in the run's directory stays red, and the bundle names them",
    async () => {
      const result = await attempt({
        breach: true,
        inputs: { repeats: "1" },
        attack: after(
          "sparse(run + '/sparse'); writeFileSync(run + '/closed', 'x'); chmodSync(run + '/closed', 0); fifo(run + '/fifo'); sparse(run + '/probe/1.1.info'); symlinkSync('/etc/hostname', run + '/root');",
        ),
      });
      expectEnded(result);
      expect(result.code, result.log).toBe(4);
      const bundle = path.join(step.paths.temp, "stormlog");
      const [name = ""] = readdirSync(bundle).filter((one) => !/\.(?:json|html)$/.test(one));
      const manifest = JSON.parse(readFileSync(path.join(bundle, name, "manifest.json"), "utf8"));
      expect(manifest.missing).toContainEqual({
        path: "runs/train/1/sparse",
        reason: "100000000000 bytes are too large for a bundle",
      });
      expect(manifest.missing).toContainEqual({ path: "runs/train/1/closed", reason: "cannot be read (EACCES)" });
      const files = manifest.files.map(({ path: one }: { path: string }) => one);
      expect(files).toContain("runs/train/1/samples.parquet");
      expect(files.filter((one: string) => /sparse|closed|fifo|root/.test(one))).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    "a breach whose change adds twelve links from the baselines to their parent stays red",
    async () => {
      const result = await attempt({
        breach: true,
        inputs: { repeats: "1" },
        prepare: ({ workspace }) => {
          for (let n = 0; n < 12; n += 1) symlinkSync("..", path.join(workspace, `baselines/train/up${n}`));
        },
      });
      expectEnded(result);
      expect(result.code, result.log).toBe(4);
    },
    LIMIT_MS,
  );

  const CONFIG = "stormlog-gate.yml";
  it.each([
    ["link to /dev/zero", (file: string) => symlinkSync("/dev/zero", file)],
    ["FIFO", (file: string) => execFileSync("mkfifo", [file])],
    ["sparse file of 100 GB", (file: string) => execFileSync("truncate", ["-s", "100G", file])],
  ])(
    "a configuration that is a %s is an error with its code",
    async (_, make) => {
      const result = await attempt({
        prepare: ({ workspace }) => {
          rmSync(path.join(workspace, CONFIG));
          make(path.join(workspace, CONFIG));
        },
      });
      expectEnded(result);
      expect(result.code, result.log).toBe(5);
      expect(result.log).toMatch(/CONFIG_(?:UNREADABLE|TOO_LARGE)/);
      expect(step.loot().size).toBe(0);
    },
    LIMIT_MS,
  );

  it("a configuration that is a link to a file of the repository is read", async () => {
    const result = await attempt({
      prepare: ({ workspace }) => {
        execFileSync("mv", [CONFIG, "other.yml"], { cwd: workspace });
        symlinkSync("other.yml", path.join(workspace, CONFIG));
      },
    });
    expect(result.code, result.log).toBe(0);
    expect(result.outputs.verdict).toBe("pass");
  });

  it.each([
    ["RUNNER_TEMP below /proc", { env: { RUNNER_TEMP: "/proc/1/none" } }, /RUNNER_TEMP_UNWRITABLE/, 1],
    ["a baseline directory below /proc", { inputs: { baseline: "file:/proc/1/none" } }, /unjudged/, 0],
  ] as const)(
    "a step with %s ends by itself",
    async (_, more, log, code) => {
      const result = await attempt({ ...more });
      expectEnded(result);
      expect(result.code, result.log).toBe(code);
      expect(result.log).toMatch(log);
    },
    LIMIT_MS,
  );
});
