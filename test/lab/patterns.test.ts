import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { CATALOGUE, LEAK_MARKS } from "../../src/lab/catalogue.ts";
import { patternCommand } from "../../src/lab/round.ts";
import { freePort } from "../testing/free-port.ts";

const LAB = path.join(packageRoot(), "leak-lab");
const PYTHON = process.env.STORMLOG_TEST_TORCH_PYTHON ?? "/usr/bin/python3";
const source = (file: string): string => readFileSync(path.join(LAB, file), "utf8");

/** Whether this Python has the module. */
function has(module: string): boolean {
  return existsSync(PYTHON) && spawnSync(PYTHON, ["-c", `import ${module}`]).status === 0;
}

/** Writes a small CIFAR-10 of random pixels, as both archives unpack. */
const CIFAR = `
import os, pickle, sys
import numpy
generator = numpy.random.default_rng(3)
for name in ["data_batch_%d" % number for number in range(1, 6)] + ["test_batch"]:
    pixels = generator.integers(0, 256, (40, 3072), dtype=numpy.uint8)
    labels = [int(label) for label in generator.integers(0, 10, 40)]
    for kind in ("binary", "python"):
        os.makedirs(os.path.join(sys.argv[1], kind), exist_ok=True)
    with open(os.path.join(sys.argv[1], "binary", name + ".bin"), "wb") as opened:
        for label, row in zip(labels, pixels):
            opened.write(bytes([label]) + row.tobytes())
    with open(os.path.join(sys.argv[1], "python", name), "wb") as opened:
        pickle.dump({b"data": pixels, b"labels": labels}, opened)
`;

interface Ran {
  readonly code: number | null;
  readonly printed: Readonly<Record<string, unknown>> | null;
  readonly stderr: string;
}

/** Run a state of a pattern for a few steps, without the gate. */
function ran(name: string, state: "leaky" | "fixed", steps: number): Ran {
  const entry = CATALOGUE.find((one) => one.name === name);
  if (entry === undefined) throw new Error(`no pattern ${name}`);
  const [program = "", ...args] = patternCommand(entry, state, LAB, {
    device: "cpu",
    scale: "tiny",
    steps,
    python: PYTHON,
  });
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: "utf8",
    timeout: 120_000,
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1" },
  });
  const line = stdout.split("\n").find((text) => text.startsWith("leak-lab: "));
  return { code: status, printed: line === undefined ? null : JSON.parse(line.slice("leak-lab: ".length)), stderr };
}

/** Direct output of a pattern's script, for a command line outside the catalogue. */
function started(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return spawnSync(PYTHON, [path.join(LAB, "patterns", `${name}.py`), ...args], {
    encoding: "utf8",
    timeout: 120_000,
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...env },
  });
}

describe("the leak lab's files", () => {
  it("the pattern files are exactly those of the catalogue", () => {
    const files = readdirSync(path.join(LAB, "patterns"), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => `patterns/${name}`);
    expect(files.sort()).toEqual(CATALOGUE.map(({ file }) => file).sort());
  });

  it.each(CATALOGUE)("$name has both states, one leak between its marks, and reports what it keeps", ({ file }) => {
    const text = source(file);
    for (const mark of Object.values(LEAK_MARKS)) expect(text.split(mark)).toHaveLength(2);
    const begins = text.indexOf(LEAK_MARKS.begin);
    const ends = text.indexOf(LEAK_MARKS.end);
    const leaky = text.search(/(?:def|function) leaky\(/);
    const fixed = text.search(/(?:def|function) fixed\(/);
    expect([leaky, begins, ends, fixed]).toEqual([leaky, begins, ends, fixed].toSorted((a, b) => a - b));
    expect(leaky).toBeGreaterThan(0);
    expect(text).toMatch(/^(?:\/\/ )?Keeps with every (?:step|restart)/m);
  });
});

describe("a pattern without a framework", { timeout: 60_000 }, () => {
  it.each(["node_cache", "node_listeners"])("%s runs in both states and reports what it kept", (name) => {
    for (const state of ["leaky", "fixed"] as const) {
      const { code, printed, stderr } = ran(name, state, 3);
      expect(code, stderr).toBe(0);
      expect(printed).toMatchObject({
        pattern: name,
        state,
        steps: 3,
        leak_bytes_per_step: 128 * 1024,
        accuracy: null,
      });
    }
  });

  it.skipIf(!existsSync(PYTHON)).each(["python_cache", "python_callbacks"])(
    "%s runs in both states in Python and reports what it kept",
    (name) => {
      for (const state of ["leaky", "fixed"] as const) {
        const { code, printed, stderr } = ran(name, state, 3);
        expect(code, stderr).toBe(0);
        expect(printed).toMatchObject({ pattern: name, state, steps: 3, leak_bytes_per_step: 128 * 1024 });
      }
    },
  );

  it.each([
    ["broken"],
    [],
    ["fixed", "leaky"],
    ["fixed", "--scale", "huge"],
    ["fixed", "--steps", "0"],
    ["fixed", "--size", "3"],
  ])("refuses in one line what it does not know, in Node: %s %s %s", (...args) => {
    const file = path.join(LAB, "patterns", "node_cache.mjs");
    const { status, stderr } = spawnSync(process.execPath, [file, ...args], { encoding: "utf8" });
    expect(status).toBe(2);
    expect(stderr).toMatch(/^usage: .*leaky\|fixed.*\n$/);
  });

  it.skipIf(!existsSync(PYTHON))(
    "a pattern reports in one line which framework is missing, whatever it imports first",
    () => {
      // The import of a framework fails as on a bare machine.
      const bare = mkdtempSync(path.join(tmpdir(), "stormlog-lab-bare-"));
      onTestFinished(() => rmSync(bare, { recursive: true, force: true }));
      const hide = `import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "tensorflow", "jax"):
            raise ModuleNotFoundError("No module named %r" % name, name=name)
sys.meta_path.insert(0, Hidden())
`;
      writeFileSync(path.join(bare, "usercustomize.py"), hide);
      writeFileSync(path.join(bare, "sitecustomize.py"), hide);
      const names = { torch: "PyTorch", tensorflow: "TensorFlow", jax: "JAX" };
      for (const { name, framework } of CATALOGUE) {
        if (framework === "python" || framework === "node") continue;
        // Of several ranks each is on its own here, as under a launcher.
        const rank = { RANK: "0", LOCAL_RANK: "0", WORLD_SIZE: "1", MASTER_ADDR: "127.0.0.1", MASTER_PORT: "1" };
        const { status, stderr } = started(name, ["fixed"], { PYTHONPATH: bare, ...rank });
        expect(status, name).toBe(1);
        expect(stderr, name).toMatch(new RegExp(`^${names[framework]} is not installed: .*\\n$`));
      }
    },
  );
});

describe.skipIf(!has("torch"))("a pattern in PyTorch", { timeout: 180_000 }, () => {
  it("learns in its fixed state, from the same data in every run", () => {
    const first = ran("forward_hook", "fixed", 10);
    expect(first.code, first.stderr).toBe(0);
    const second = ran("forward_hook", "leaky", 10);
    expect(second.printed?.accuracy).toBe(first.printed?.accuracy);
    expect(first.printed?.leak_bytes_per_step).toBe(32 * 64 * 4 * 4 * 4);
  });

  it("trains on CIFAR-10 where the user has it, in either of its archives", () => {
    const place = mkdtempSync(path.join(tmpdir(), "stormlog-lab-cifar-"));
    onTestFinished(() => rmSync(place, { recursive: true, force: true }));
    const made = spawnSync(PYTHON, ["-c", CIFAR, place], { encoding: "utf8" });
    expect(made.status, made.stderr).toBe(0);
    const script = path.join(LAB, "patterns", "forward_hook.py");
    const [binary, pickled] = ["binary", "python"].map((kind) => {
      const args = [script, "fixed", "--device", "cpu", "--steps", "3", "--data", path.join(place, kind)];
      return spawnSync(PYTHON, args, { encoding: "utf8", env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1" } });
    });
    expect(binary?.status, binary?.stderr).toBe(0);
    expect(binary?.stdout).toContain("3 steps");
    expect(pickled?.stdout).toBe(binary?.stdout);
  });

  it("refuses in one line a device that is not there, and a directory without the data", () => {
    const place = mkdtempSync(path.join(tmpdir(), "stormlog-lab-empty-"));
    onTestFinished(() => rmSync(place, { recursive: true, force: true }));
    const empty = started("forward_hook", ["fixed", "--device", "cpu", "--data", place]);
    expect(empty.status).toBe(1);
    expect(empty.stderr).toMatch(/^--data .*: neither data_batch_1 nor data_batch_1\.bin is there: .*\n$/);
    writeFileSync(path.join(place, "data_batch_1.bin"), "not images");
    const wrong = started("forward_hook", ["fixed", "--device", "cpu", "--data", place]);
    expect(wrong.status).toBe(1);
    expect(wrong.stderr).toMatch(/^--data .*: data_batch_1 is not a file of CIFAR-10 \(.*\)\n$/);
    const device = started("forward_hook", ["fixed", "--device", "mps"]);
    expect(device.status).toBe(1);
    expect(device.stderr).toMatch(/^--device mps: PyTorch \S+ finds none here; .*\n$/);
  });

  it("reports in one line that the port of the ranks is in use", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === "object" && address !== null ? String(address.port) : "";
    const env = { RANK: "0", LOCAL_RANK: "0", WORLD_SIZE: "2", MASTER_ADDR: "127.0.0.1", MASTER_PORT: port };
    const { status, stderr } = started("ddp_bucket_hook", ["fixed", "--device", "cpu"], env);
    expect(status).toBe(1);
    expect(stderr).toContain(`rank 0 of 2 cannot join the others at 127.0.0.1:${port}: `);
    expect(stderr).not.toContain("Traceback");
  });

  it.each([1, 2])("ends its ranks with the process that started them, interrupted when %d have", async (count) => {
    const place = mkdtempSync(path.join(tmpdir(), "stormlog-lab-ranks-"));
    onTestFinished(() => rmSync(place, { recursive: true, force: true }));
    const script = path.join(LAB, "patterns", "ddp_bucket_hook.py");
    const child = spawn(PYTHON, [script, "fixed", "--device", "cpu", "--steps", "1000000"], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1", TMPDIR: place },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const ranks = (): readonly string[] =>
      readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").split(" ").filter(Boolean);
    await expect.poll(() => ranks().length, { timeout: 30_000, interval: 1 }).toBeGreaterThanOrEqual(count);
    const started = ranks();
    // They meet at a file: a port that was free before PyTorch is loaded may be another's after it.
    for (const pid of started) expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toContain("MASTER_PORT");
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect(started.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
    expect(readdirSync(place)).toEqual([]);
  });

  it("joins the ranks that a launcher has started", async () => {
    const port = String(await freePort());
    const script = path.join(LAB, "patterns", "gathered_shards.py");
    // As `torchrun` starts them.
    const outputs = ["0", "1"].map(async (rank) => {
      const shared = { WORLD_SIZE: "2", MASTER_ADDR: "127.0.0.1", MASTER_PORT: port, GLOO_SOCKET_IFNAME: "lo" };
      const child = spawn(PYTHON, [script, "leaky", "--device", "cpu", "--steps", "2"], {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1", RANK: rank, LOCAL_RANK: rank, ...shared },
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      let text = "";
      child.stdout.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
      return { code, text };
    });
    const [first, second] = await Promise.all(outputs);
    expect(first).toMatchObject({ code: 0, text: expect.stringContaining("leak-lab: ") });
    expect(second).toEqual({ code: 0, text: "" });
  });

  it("trains on two ranks without a launcher", () => {
    const { code, printed, stderr } = ran("gathered_shards", "leaky", 2);
    expect(code, stderr).toBe(0);
    expect(printed).toMatchObject({ pattern: "gathered_shards", device: "cpu" });
  });
});
