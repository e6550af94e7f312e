import { writeFile } from "node:fs/promises";
import path from "node:path";
import { GateError } from "../core/errors.ts";
import type { PackageChange } from "../core/locks.ts";
import { programsOf } from "../core/process/child.ts";
import { throwAwayHome } from "./home.ts";
import type { PreparedState } from "./judge-state.ts";
import type { LockDifference } from "./locks.ts";
import { copyProject } from "./npm-project.ts";
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
      const state = {
        ...options,
        scratch,
        lock: difference.mixture(included),
        env: await throwAwayHome(scratch, options.env),
      };
      const made = options.tool === "npm" ? await npmEnvironment(state) : await pythonEnvironment(state);
      return "reason" in made ? unusable(made, difference) : made;
    },
  };
}

type ToolFailure = Extract<ToolResult, { readonly ok: false }>;

/** One state to be installed; its environment has the throw-away home. */
interface State extends InstallOptions {
  readonly scratch: string;
  readonly lock: string;
}

/** Run a program of the user's installer, with downloads that all states share. */
function install(
  { tool, env, directory, interrupt }: State,
  cwd: string,
  words: readonly string[],
): Promise<ToolResult> {
  const cache = path.join(directory, "cache");
  const installing = {
    // Settings of the measured program, under which an installer would load its code or find its packages.
    ...Object.fromEntries(
      Object.entries(env).filter(([name]) => !/^(?:PYTHON\w*|NODE_OPTIONS|LD_PRELOAD)$/.test(name)),
    ),
    PIP_CACHE_DIR: cache,
    UV_CACHE_DIR: cache,
    npm_config_cache: cache,
  };
  const [program = "", ...args] = words;
  return runTool(tool, programOf(program, env.PATH), args, { cwd, env: installing, interrupt });
}

async function pythonEnvironment(state: State): Promise<PreparedState | ToolFailure> {
  const { scratch, lock, tool, cwd, env } = state;
  const directory = path.join(scratch, "env");
  const python = path.join(directory, "bin", "python");
  const file = path.join(scratch, "requirements.txt");
  await writeFile(file, lock);
  const pip = ["python3", "-m", "pip", "--python", python, "install", "--disable-pip-version-check", "--no-input"];
  const steps =
    tool === "uv"
      ? [
          ["uv", "venv", directory],
          ["uv", "pip", "install", "--python", python, "--requirement", file],
        ]
      : [
          ["python3", "-m", "venv", "--without-pip", directory],
          [...pip, "--requirement", file],
        ];
  for (const words of steps) {
    const result = await install(state, cwd, words);
    if (!result.ok) return result;
  }
  const PATH = `${path.join(directory, "bin")}:${env.PATH ?? "/usr/bin:/bin"}`;
  const { PYTHONHOME: _home, ...rest } = env;
  return { cwd, env: { ...rest, PATH, VIRTUAL_ENV: directory } };
}

async function npmEnvironment(state: State): Promise<PreparedState | ToolFailure> {
  const cwd = path.join(state.scratch, "project");
  await copyProject(state.cwd, cwd, state.lock);
  const result = await install(state, cwd, ["npm", "ci", "--no-audit", "--no-fund"]);
  return result.ok ? { cwd, env: state.env } : result;
}

/**
 * The user's own tool: the first on PATH, in a pipeline as well, unlike the programs that the gate runs for itself.
 * @throws GateError SEARCH_ENVIRONMENT_FAILED when it is not installed
 */
function programOf(name: string, PATH: string | undefined): string {
  const program = programsOf({ PATH }).find(name);
  if (program !== null) return program.path;
  throw new GateError("SEARCH_ENVIRONMENT_FAILED", `${name} is not on PATH`, {
    hint: "Install it, or name another installer with --tool.",
  });
}

/** Lines of pip about packages that it found, whether they exclude others or not. */
const PROGRESS = /^\s*(?:Collecting|Downloading|Using cached|Processing|Requirement already satisfied|Looking in).*$/gm;

/** Messages of pip, uv and npm that versions exclude each other. */
const CONFLICT =
  /ResolutionImpossible|conflicting dependencies|unsatisfiable|does not satisfy|Missing: .* from lock file|code ETARGET/;

/** A failed installation, with the packages that exclude each other. */
export function unusable({ reason, output }: ToolFailure, difference: LockDifference): Unusable {
  const { changes, dependents } = difference;
  if (!CONFLICT.test(output)) return { reason };
  const named = changes.flatMap((change, at) => (isNamed(change, output.replace(PROGRESS, "")) ? [at] : []));
  const together = [...new Set([...named, ...named.flatMap((at) => dependents(changes[at]?.name ?? ""))])];
  if (together.length === 0) return { reason: "its versions exclude each other, and no changed package is named" };
  const names = together.map((at) => changes[at]?.name).join(", ");
  return { reason: `its versions exclude each other: ${names}`, together };
}

/** Whether a message names the package with a version or range. */
function isNamed({ name }: PackageChange, output: string): boolean {
  const pattern = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/-/g, "[-_.]+");
  return new RegExp(`(?:^|[\\s'"])${pattern}\\s?(?:[=<>!~@]|\\d)`, "mi").test(output);
}
