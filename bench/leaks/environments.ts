import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { oneLine } from "../../src/core/text.ts";
import { type Pair, requirementsOf, type State } from "./pairs.ts";

const BENCH = fileURLToPath(new URL(".", import.meta.url));
/** What the other tools for Python need, pinned. */
const TOOLS = ["pytest==9.2.0", "memray==1.20.0", "pytest-memray==1.11.0"];
const INSTALL_TIMEOUT_MS = 300_000;

/** A throw-away project with one release installed and the program in it. */
export interface Project {
  readonly directory: string;
  /** The interpreter, which takes the program's files. */
  readonly interpreter: string;
  /** Version of the package that is installed. */
  readonly version: string;
}

export type Prepared<T> = T | { readonly skipped: string };

function run(file: string, args: readonly string[], cwd: string): string | null {
  const { status, error, stderr, stdout } = spawnSync(file, args, {
    cwd,
    encoding: "utf8",
    timeout: INSTALL_TIMEOUT_MS,
  });
  if (status === 0) return null;
  const lines = `${stdout ?? ""}\n${stderr ?? ""}`.split("\n").filter((line) => /error/i.test(line));
  return oneLine(error?.message ?? lines.at(-1) ?? `exit ${status}`);
}

/** Runs the steps once for these requirements; what an earlier bench installed is used again. */
function once(directory: string, requirements: readonly string[], steps: () => string | null): string | null {
  const stamp = path.join(directory, "installed.json");
  const wanted = JSON.stringify(requirements);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return null;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const problem = steps();
  if (problem === null) writeFileSync(stamp, wanted);
  return problem;
}

/** Minor version of Python 3, or null where it cannot be run. */
export function pythonMinor(python: string): number | null {
  const { status, stdout } = spawnSync(python, ["-c", "import sys; print(*sys.version_info[:2])"], {
    encoding: "utf8",
  });
  const [, minor] = /^3 (\d+)\s*$/.exec(status === 0 ? stdout : "") ?? [];
  return minor === undefined ? null : Number(minor);
}

const pip = (python: string, args: readonly string[], cwd: string): string | null =>
  run(python, ["-m", "pip", ...args, "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"], cwd);

/** Directory of the other tools' packages, for PYTHONPATH. */
export function installTools(python: string, cache: string): Prepared<{ readonly directory: string }> {
  const directory = path.join(cache, `tools-3.${pythonMinor(python)}`);
  const packages = path.join(directory, "packages");
  const problem = once(directory, TOOLS, () => pip(python, ["install", "--target", packages, ...TOOLS], directory));
  return problem === null ? { directory: packages } : { skipped: `the other tools cannot be installed: ${problem}` };
}

function installPython(pair: Pair, state: State, python: string, directory: string): string | null {
  const minor = pythonMinor(python);
  const [oldest, newest] = pair.pythons ?? [0, 99];
  if (minor === null) return `${python} is not a Python 3 that runs`;
  if (state !== "newest" && (minor < oldest || minor > newest))
    return `needs Python 3.${oldest} to 3.${newest}, this is 3.${minor}`;
  const requirements = requirementsOf(pair, state);
  return once(directory, [...requirements, `3.${minor}`], () => {
    const made = run(python, ["-m", "venv", "--without-pip", "venv"], directory);
    return made ?? pip(python, ["--python", "venv/bin/python", "install", ...requirements], directory);
  });
}

function installNode(pair: Pair, state: State, directory: string): string | null {
  const requirements = requirementsOf(pair, state);
  return once(directory, requirements, () => {
    writeFileSync(path.join(directory, "package.json"), '{ "private": true }\n');
    return run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...requirements], directory);
  });
}

/** Version of the installed package, by its own metadata. */
function versionOf({ runtime, package: name }: Pair, directory: string, interpreter: string): string {
  const [file, args] =
    runtime === "python"
      ? [interpreter, ["-c", "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))", name]]
      : [process.execPath, ["-p", `require("./node_modules/${name}/package.json").version`]];
  return spawnSync(file, args, { cwd: directory, encoding: "utf8" }).stdout.trim();
}

/** Installs a state of a pair under the cache and copies the program beside it. */
export function prepare(pair: Pair, state: State, python: string, cache: string): Prepared<Project> {
  const directory = path.join(cache, `${pair.name}-${state}`);
  const problem =
    pair.runtime === "python" ? installPython(pair, state, python, directory) : installNode(pair, state, directory);
  if (problem !== null) return { skipped: problem };
  const suffix = pair.runtime === "python" ? "py" : "cjs";
  const copies = {
    [`programs/${pair.program}.${suffix}`]: `program.${suffix}`,
    [`programs/pace.${suffix}`]: `pace.${suffix}`,
    ...(pair.runtime === "python" ? { "peers.py": "peers.py", "test_leaks.py": "test_leaks.py" } : {}),
  };
  for (const [from, to] of Object.entries(copies)) copyFileSync(path.join(BENCH, from), path.join(directory, to));
  const interpreter = pair.runtime === "python" ? path.join(directory, "venv/bin/python") : process.execPath;
  return { directory, interpreter, version: versionOf(pair, directory, interpreter) };
}

/** Text of a pair's program. */
export const sourceOf = ({ program, runtime }: Pair): string =>
  readFileSync(path.join(BENCH, "programs", `${program}.${runtime === "python" ? "py" : "cjs"}`), "utf8");
