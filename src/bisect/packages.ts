import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { helperPrograms } from "../core/child.ts";
import { GateError } from "../core/errors.ts";
import type { PackageChange } from "../core/locks.ts";
import type { Prepared } from "./judge-state.ts";
import { DEPENDENCY_FIELDS, type LockDifference } from "./locks.ts";
import type { Subject, Unusable } from "./run-search.ts";
import { runTool, type ToolResult } from "./tool.ts";

/** The user's own installer. */
export const TOOLS = ["pip", "uv", "npm"] as const;
export type Tool = (typeof TOOLS)[number];

export interface InstallOptions {
  readonly tool: Tool;
  /** Directory of the command; for npm the project, which is copied. */
  readonly cwd: string;
  /** Directory of the search, for downloads that several states share. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly interrupt: AbortSignal;
}

/** Packages as changes of a search: a state is an environment of its own with a mixture of the two locks. */
export function packageSubject(difference: LockDifference, options: InstallOptions): Subject {
  const { changes } = difference;
  return {
    count: changes.length,
    nameOf: (included) => `${included.length} of ${changes.length} packages`,
    prepare: async (included, scratch) => {
      const home = path.join(scratch, "home");
      await mkdir(home);
      const cache = path.join(options.directory, "cache");
      // Files with tokens (.npmrc, .netrc, pip.conf) are in the user's home.
      const env = { ...options.env, HOME: home, PIP_CACHE_DIR: cache, UV_CACHE_DIR: cache, npm_config_cache: cache };
      const { XDG_CONFIG_HOME: _config, ...installing } = env as Record<string, string>;
      const lock = difference.mixture(included);
      const made =
        options.tool === "npm"
          ? await npmEnvironment(lock, scratch, installing, options)
          : await pythonEnvironment(lock, scratch, installing, options);
      return "output" in made ? unusable(made, difference) : made;
    },
  };
}

type Failure = Extract<ToolResult, { readonly ok: false }>;

async function pythonEnvironment(
  lock: string,
  scratch: string,
  installing: Readonly<Record<string, string>>,
  { tool, cwd, env, interrupt }: InstallOptions,
): Promise<Prepared | Failure> {
  const directory = path.join(scratch, "env");
  const python = path.join(directory, "bin", "python");
  const file = path.join(scratch, "requirements.txt");
  await writeFile(file, lock);
  const run = (program: string, args: readonly string[]): Promise<ToolResult> =>
    runTool(tool, programOf(program), args, { cwd, env: installing, interrupt });
  const quiet = ["--disable-pip-version-check", "--no-input"];
  const steps =
    tool === "uv"
      ? ([
          ["uv", ["venv", directory]],
          ["uv", ["pip", "install", "--python", python, "--requirement", file]],
        ] as const)
      : ([
          ["python3", ["-m", "venv", "--without-pip", directory]],
          ["python3", ["-m", "pip", "--python", python, "install", ...quiet, "--requirement", file]],
        ] as const);
  for (const [program, args] of steps) {
    const result = await run(program, args);
    if (!result.ok) return result;
  }
  const PATH = `${path.join(directory, "bin")}:${env.PATH ?? "/usr/bin:/bin"}`;
  const { PYTHONPATH: _others, PYTHONHOME: _home, ...rest } = env;
  return { cwd, env: { ...rest, PATH, VIRTUAL_ENV: directory } };
}

/** What is not copied with a project: it is installed again, large, or of this search. */
const LEFT_OUT = new Set(["node_modules", ".git"]);

async function npmEnvironment(
  lock: string,
  scratch: string,
  installing: Readonly<Record<string, string>>,
  { cwd, directory, env, interrupt }: InstallOptions,
): Promise<Prepared | Failure> {
  const project = path.join(scratch, "project");
  await cp(cwd, project, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (file) => !LEFT_OUT.has(path.basename(file)) && file !== directory,
  });
  const manifest = path.join(project, "package.json");
  const { packages } = JSON.parse(lock) as { packages: Record<string, Record<string, unknown>> };
  const root = packages[""] ?? {};
  const written = JSON.parse(await readFile(manifest, "utf8").catch(() => "{}")) as Record<string, unknown>;
  const listed = Object.fromEntries(DEPENDENCY_FIELDS.map((field) => [field, root[field]]));
  await writeFile(manifest, JSON.stringify({ name: "project", version: "0.0.0", ...written, ...listed }, null, 2));
  await writeFile(path.join(project, "package-lock.json"), lock);
  const args = ["ci", "--no-audit", "--no-fund"];
  const result = await runTool("npm", programOf("npm"), args, { cwd: project, env: installing, interrupt });
  return result.ok ? { cwd: project, env } : result;
}

/** @throws GateError SEARCH_ENVIRONMENT_FAILED when it is not installed */
function programOf(name: string): string {
  const program = helperPrograms().find(name);
  if (program !== null) return program.path;
  throw new GateError("SEARCH_ENVIRONMENT_FAILED", `${name} is not on PATH`, {
    kind: "error",
    hint: "Install it, or name another installer with --tool.",
  });
}

/** Messages of pip, uv and npm about versions that exclude each other. */
const CONFLICT =
  /ResolutionImpossible|conflicting dependencies|unsatisfiable|does not satisfy|Missing: .* from lock file|code ETARGET/;

/** A failed installation, with the packages that it names as excluding each other. */
export function unusable({ reason, output }: Failure, { changes, dependents }: LockDifference): Unusable {
  if (!CONFLICT.test(output)) return { reason };
  const named = changes.flatMap((change, at) => (isNamed(change, output) ? [at] : []));
  const together = [...new Set([...named, ...named.flatMap((at) => dependents(changes[at]?.name ?? ""))])];
  const names = together.map((at) => changes[at]?.name).join(", ");
  return { reason: `its versions exclude each other: ${names || "no changed package is named"}`, together };
}

/** Whether a message names the package with a version or range. */
function isNamed({ name }: PackageChange, output: string): boolean {
  const pattern = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/-/g, "[-_.]+");
  return new RegExp(`(?:^|[\\s'"])${pattern}\\s?(?:[=<>!~@]|\\d)`, "mi").test(output);
}
