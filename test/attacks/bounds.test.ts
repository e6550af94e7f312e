import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { storeRounds } from "../../scripts/soak/stores.ts";
import { installGate } from "../testing/installed-gate.ts";

let directory = "";
let cli = "";

beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-bounds-"));
  ({ cli } = await installGate(directory));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Ended {
  readonly exit: number | null;
  readonly stderr: string;
  readonly stdout: string;
}

/** A process of the gate under limits of the shell. */
function gate(limit: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Ended {
  const { status, stderr, stdout } = spawnSync(
    "bash",
    ["-c", `${limit} && exec "$@"`, "gate", process.execPath, cli, ...args],
    { cwd: directory, encoding: "utf8", env: { PATH: process.env.PATH, HOME: directory, ...env } },
  );
  return { exit: status, stderr, stdout };
}

/** Long enough for two samples. */
const COMMAND = [process.execPath, "-e", "setTimeout(() => {}, 150)"];
const STACK = /^\s+at .*:\d+:\d+\)?$|is a bug/m;

const jsonOf = (...names: string[]) => JSON.parse(readFileSync(path.join(directory, ...names), "utf8"));

const run = (bundle: string, options: readonly string[], command = COMMAND): readonly string[] => [
  "run",
  ...["--baseline", "none", "--bundle", path.join(directory, bundle), ...options],
  "--",
  ...command,
];

describe.runIf(process.platform === "linux")("limits of the machine", () => {
  it.each([4, 16])("an address space of %d GB costs the picture, with one warning, and nothing else", (gigabytes) => {
    const bundle = `space-${gigabytes}`;
    const limited = gate(`ulimit -v ${gigabytes * 2 ** 20}`, run(bundle, []));
    expect(limited.exit, limited.stderr).toBe(6);
    expect(limited.stderr).not.toMatch(STACK);
    const { complete, files } = jsonOf(bundle, "manifest.json");
    const names = files.map(({ path: name }: { path: string }) => name);
    expect({ complete, page: names.includes("timeline.html") }).toEqual({ complete: true, page: true });
    const { warnings } = jsonOf(bundle, "report.json").payload;
    const about = warnings.filter((one: string) => /picture/.test(one));
    expect(about).toHaveLength(names.includes("timeline.png") ? 0 : 1);
  });

  it.each([20, 24, 32, 64])("%d descriptors are enough, or are named as the reason", (files) => {
    const { exit, stderr } = gate(`ulimit -n ${files}`, run(`files-${files}`, []));
    expect(stderr).not.toMatch(STACK);
    if (exit !== 6)
      expect({ exit, stderr }).toEqual({ exit: 1, stderr: expect.stringContaining("TOO_MANY_OPEN_FILES") });
  });

  it("a command that replaces the bundle's directory by a file keeps the verdict", () => {
    const bundle = path.join(directory, "replaced");
    const program = `setTimeout(() => { fs.renameSync(${JSON.stringify(bundle)}, ${JSON.stringify(`${bundle}-old`)}); fs.writeFileSync(${JSON.stringify(bundle)}, "x") }, 150)`;
    const { exit, stderr, stdout } = gate("true", run("replaced", [], [process.execPath, "-e", program]));
    expect(exit, stderr).toBe(6);
    expect(stdout).toMatch(/directory was replaced during the run/);
    expect(stderr).not.toMatch(STACK);
    expect(jsonOf("replaced", "manifest.json").exit_code).toBe(6);
  });

  it("a directory for temporary files that cannot be written does not change the verdict", () => {
    const { exit, stderr } = gate("true", run("no-tmp", []), { TMPDIR: "/proc/self" });
    expect(exit, stderr).toBe(6);
    expect(jsonOf("no-tmp", "manifest.json").complete).toBe(true);
  });

  it("a wall clock that jumps by a day during a run counts as no minutes", () => {
    const jump = path.join(directory, "jump.mjs");
    const text = `
      const real = Date, started = performance.now();
      const now = () => real.now() + (performance.now() - started > 200 ? 86_400_000 : 0);
      globalThis.Date = class extends real {
        constructor(...given) { given.length === 0 ? super(now()) : super(...given); }
        static now() { return now(); }
      };`;
    writeFileSync(jump, text);
    const options = ["--max-minutes", "30", "--repeats", "3"];
    const { exit, stderr } = gate("true", run("clock", options), { NODE_OPTIONS: `--import ${jump}` });
    expect(exit, stderr).toBe(6);
    const { generated_at_utc, payload: report } = jsonOf("clock", "report.json");
    expect(Date.parse(generated_at_utc) - Date.now()).toBeGreaterThan(80_000_000);
    expect(report.cost.runs).toBe(3);
    expect(report.cost.minutes).toBeLessThan(30);
  });
});

describe.runIf(process.platform !== "win32")("writers of one file store", () => {
  it("a writer that is killed or stopped at any moment costs no run that was acknowledged", async () => {
    const { acknowledged, lost, errors } = await storeRounds(6, 7);
    expect({ lost, errors }).toEqual({ lost: [], errors: [] });
    expect(acknowledged).toBeGreaterThan(6 * 8);
  });
});
