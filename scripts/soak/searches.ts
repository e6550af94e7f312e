// `bisect` and `culprit` where the change that leaks is known.
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as v from "valibot";
import { packageRoot } from "../../src/core/package-root.ts";
import { draws } from "./stores.ts";

const COMMITS = 64;
const PACKAGES = 40;
const MAX_BUILDS = 9;
const MAX_ENVIRONMENTS = 8;
/** Packages of the lock that only work together. */
const TOGETHER = [11, 12];
/** Searches that run at once; their programs wait most of the time. */
const AT_ONCE = 2;
const SEARCH_TIMEOUT_MS = 1_200_000;

/** Bytes that a leaking step keeps: 8 MiB in forty steps of a tenth of a second. */
const STEP_BYTES = Math.round((8 * 2 ** 20) / 40);
const LOOP = `import time
for _ in range(40):
    step()
    time.sleep(0.1)
`;
const source = (leaks: boolean): string =>
  `kept = []
def step():
    block = b"x" * ${STEP_BYTES}
${leaks ? "    kept.append(block)\n" : ""}`;

const FoundSchema = v.object({
  changes: v.array(v.object({ name: v.optional(v.string()), subject: v.optional(v.string()) })),
  steps: v.array(v.unknown()),
});

/** What went wrong with one search, or null. */
type Fault = string | null;

function search(args: readonly string[], cwd: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const argv = [path.join(packageRoot(), "dist", "cli.js"), ...args];
  const env = { ...process.env, GITHUB_ACTIONS: "" };
  return new Promise((resolve) => {
    const options = { cwd, env, timeout: SEARCH_TIMEOUT_MS, maxBuffer: 2 ** 26 };
    execFile(process.execPath, argv, options, (_error, stdout, stderr) => resolve({ stdout, stderr }));
  });
}

/** Compares what a search printed with the change that leaks. */
function faultOf(
  { stdout, stderr }: { readonly stdout: string; readonly stderr: string },
  expected: string,
  most: number,
): Fault {
  if (stdout === "") return `expected ${expected}: ${stderr.slice(-600)}`;
  const found = v.safeParse(FoundSchema, JSON.parse(stdout));
  if (!found.success) return `expected ${expected}: ${stdout.slice(0, 600)}`;
  const names = found.output.changes.map(({ name, subject }) => name ?? subject ?? "");
  const states = found.output.steps.length;
  if (names.length !== 1 || names[0] !== expected)
    return `expected ${expected}, found ${names.join(", ")}: ${stdout.slice(0, 3000)}`;
  return states <= most ? null : `${expected} took ${states} states: ${stdout.slice(0, 3000)}`;
}

async function bisectOnce(directory: string, leaky: number): Promise<Fault> {
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", directory, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
      encoding: "utf8",
    });
  git("init", "--quiet", "--initial-branch=main");
  for (let commit = 0; commit <= COMMITS; commit += 1) {
    writeFileSync(path.join(directory, "work.py"), `${source(commit >= leaky)}${LOOP}# ${commit}\n`);
    git("add", ".");
    git("commit", "--quiet", "-m", `change ${commit}`);
  }
  const ends = ["--good", `main~${COMMITS}`, "--bad", "main"];
  const ended = await search(["bisect", ...ends, "--json", "--", "python3", "work.py"], directory);
  return faultOf(ended, `change ${leaky}`, MAX_BUILDS);
}

/** Wheels of two versions of each package; the second of one leaks, and two need each other's second. */
const WHEELS = `
import json, sys, zipfile
sources, count, leaky, together = json.load(sys.stdin)
for number in range(count):
    for version in ("1.0", "2.0"):
        second = version == "2.0"
        name, info = f"part{number}", f"part{number}-{version}.dist-info"
        needs = f"Requires-Dist: part{together[1]}>=2\\n" if second and number == together[0] else ""
        with zipfile.ZipFile(f"{sys.argv[1]}/{name}-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}.py", sources[second and number == leaky])
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n{needs}")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
            wheel.writestr(f"{info}/RECORD", "")
`;

async function culpritOnce(directory: string, leaky: number): Promise<Fault> {
  const wheels = path.join(directory, "wheels");
  mkdirSync(wheels);
  const sources = [source(false), source(true)];
  const input = JSON.stringify([sources, PACKAGES, leaky, TOGETHER]);
  execFileSync("python3", ["-c", WHEELS, wheels], { input });
  const parts = Array.from({ length: PACKAGES }, (_, number) => `part${number}`);
  for (const [file, version] of [["good.txt", "1.0"] as const, ["bad.txt", "2.0"] as const]) {
    const lock = ["--no-index", `--find-links ${wheels}`, ...parts.map((name) => `${name}==${version}`)];
    writeFileSync(path.join(directory, file), lock.join("\n"));
  }
  const imports = parts.map((name) => `import ${name}\n`).join("");
  const steps = `def step():\n${parts.map((name) => `    ${name}.step()\n`).join("")}`;
  writeFileSync(path.join(directory, "app.py"), `${imports}${steps}${LOOP}`);
  const locks = ["--good", "good.txt", "--bad", "bad.txt"];
  const ended = await search(["culprit", ...locks, "--json", "--", "python", "app.py"], directory);
  return faultOf(ended, `part${leaky}`, MAX_ENVIRONMENTS);
}

/** Searches whose leaking commit or package is drawn by the seed. @returns what went wrong */
async function searches(count: number, once: (directory: string) => Promise<Fault>): Promise<readonly string[]> {
  const faults: string[] = [];
  let left = count;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const directory = mkdtempSync(path.join(tmpdir(), "gate-soak-"));
      try {
        const fault = await once(directory);
        if (fault !== null) faults.push(fault);
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return faults;
}

/** Bisections of 64 commits of which one, drawn by the seed, begins to keep 8 MiB. */
export function bisectRound(count: number, seed: number): Promise<readonly string[]> {
  const draw = draws(seed);
  return searches(count, (directory) => bisectOnce(directory, 1 + Math.floor(draw() * COMMITS)));
}

/** Searches of 40 packages of a lock of which one, drawn by the seed, begins to keep 8 MiB. */
export function culpritRound(count: number, seed: number): Promise<readonly string[]> {
  const draw = draws(seed);
  const alone = Array.from({ length: PACKAGES }, (_, at) => at).filter((at) => !TOGETHER.includes(at));
  return searches(count, (directory) => culpritOnce(directory, alone[Math.floor(draw() * alone.length)] ?? 0));
}
