import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DEFAULTS } from "../../config/run-options.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { makeDirectories } from "../../core/files.ts";
import { git } from "../../git/git.ts";
import { viewRepository } from "../../git/repository-view.ts";
import { METRICS } from "../../telemetry/recording/metrics.ts";
import type { Invocation } from "../console/command.ts";
import { writing } from "../console/console.ts";
import { programArgv } from "../console/program.ts";
import { type Choices, runner, visibility } from "../init/choices.ts";
import { acceptWorkflow, baselinesWorkflow, forkReportWorkflow, gateWorkflow, ownPin } from "../init/workflows.ts";
import { LAB_DIRECTORY, SCALE_DIRECTORY } from "../lab/options.ts";

/** The commented configuration. Everything that is not commented out is valid. */
export const CONFIG = `# yaml-language-server: $schema=https://raw.githubusercontent.com/stormlog/gate/v1/schema/config.schema.json
# Stormlog Gate: what is measured and how it is judged (schema stormlog.config/1).
schema: stormlog.config/1

scenarios:
  - name: train                      # the baseline is stored under this name
    run: python train.py --steps 200 # a string runs in \`sh -c\`; a list ["python", "train.py"] runs without a shell
    # cwd: .
    # env: { CUDA_VISIBLE_DEVICES: "0" }
    # timeout: 15m                   # for one run
    # horizon: 1000000               # steps (or "72h") of a production run: growth is extrapolated to it
    # budget: { allocated: 12GiB }   # absolute limits on peaks, of any of these metrics:
    #   ${METRICS.join(", ")}
    # repeats: auto                  # one run, more only to confirm a breach

# Where accepted measurements are. Without this line the Action reads the hidden ref that the nightly workflow writes,
# then baselines/ in the repository; the command line reads baselines/, which \`stormlog-gate baseline refresh\` writes.
# baseline: file:baselines

# policy:
#   unjudged: warn                   # exit status when nothing is comparable: fail, warn or pass
#   base-run: auto                   # re-run the base commit before failing: auto, off, or a command
#   max-runs: 10
#   max-minutes: 30
`;

/** The workflows by file name. A private repository can have forks too, whose runs may only read. */
const WORKFLOWS: Readonly<Record<string, (choices: Choices) => string>> = {
  "memory-gate.yml": gateWorkflow,
  "memory-baselines.yml": baselinesWorkflow,
  "memory-report.yml": forkReportWorkflow,
  "memory-accept.yml": acceptWorkflow,
};

interface PlannedFile {
  readonly path: string;
  readonly text: string;
}

/** Every file with its path: the configuration here, the workflows where GitHub expects them. */
function plan(repository: RepositoryLayout, choices: Choices, cwd: string): readonly PlannedFile[] {
  const workflows = Object.entries(WORKFLOWS).map(([name, text]) => ({
    path: path.join(repository.top, ".github", "workflows", name),
    text: text(choices),
  }));
  return [{ path: path.join(cwd, "stormlog-gate.yml"), text: CONFIG }, ...workflows];
}

/** The directories in which steps of a workflow work; "" is the top. */
function workingDirectories(workflow: string): ReadonlySet<string> {
  const named = [...workflow.matchAll(/^\s*working-directory:\s*["']?(.*?)["']?\s*$/gm)].map(([, name = ""]) => name);
  return new Set(named.length === 0 ? [""] : named);
}

/** Whether an existing workflow measures what the planned one does. */
function measuresSame({ path: file, text }: PlannedFile): boolean {
  if (!/uses: stormlog\/gate(?:\/refresh)?@/.test(text)) return true;
  try {
    const existing = workingDirectories(readFileSync(file, "utf8"));
    return [...workingDirectories(text)].every((directory) => existing.has(directory));
  } catch {
    return true;
  }
}

/** Keep the evidence out of the repository; whether that needed more lines. */
function appendIgnored(file: string): boolean {
  let text = "";
  writing(file, () => {
    text = ignoredDirectories(existsSync(file) ? readFileSync(file, "utf8") : null);
    // Appended, so that bytes that are not UTF-8 stay as they are.
    if (text !== "") appendFileSync(file, text);
  });
  return text !== "";
}

export async function init({ flags, text, console }: Invocation): Promise<number> {
  const cwd = process.cwd();
  const repository = await detectRepository(cwd);
  const choices: Choices = {
    ...runner(text.runner),
    visibility: visibility(text.visibility),
    defaultBranch: repository.defaultBranch,
    directory: repository.directory,
    pin: ownPin(),
  };
  const written: string[] = [];
  const kept: string[] = [];
  const elsewhere: string[] = [];
  const shown = (file: string): string => path.relative(cwd, file) || file;
  for (const file of plan(repository, choices, cwd)) {
    if (existsSync(file.path) && flags.force !== true) {
      kept.push(shown(file.path));
      if (!measuresSame(file)) elsewhere.push(shown(file.path));
      continue;
    }
    writing(file.path, () => {
      makeDirectories(path.dirname(file.path));
      writeFileSync(file.path, file.text);
    });
    written.push(shown(file.path));
  }
  const ignore = path.join(repository.top, ".gitignore");
  const isIgnoring = (repository.inRepository || existsSync(ignore)) && appendIgnored(ignore);
  const lines = [
    ...written.map((file) => `wrote  ${file}`),
    ...(isIgnoring ? [`added  the directories of evidence to ${shown(ignore)}`] : []),
    ...kept.map((file) => `kept   ${file} (it exists; --force overwrites)`),
    ...nextSteps({
      choices,
      inRepository: repository.inRepository,
      elsewhere,
      refused: repository.refused,
      program: programArgv(),
    }),
  ];
  // Names of files and branches are outside text.
  for (const line of lines) console.print(escapeTerminal(line));
  console.document({ written: isIgnoring ? [...written, shown(ignore)] : written, kept });
  return ExitCode.pass;
}

/** Directories of evidence, which do not belong into a repository. */
const DIRECTORIES = [
  DEFAULTS.bundle,
  DEFAULTS.recording,
  DEFAULTS.merged,
  DEFAULTS.demo,
  DEFAULTS.bisect,
  DEFAULTS.culprit,
  LAB_DIRECTORY,
  SCALE_DIRECTORY,
] as const;

/** Whether a line of `.gitignore` covers a directory wherever it is, in the forms that people write. */
function covers(line: string, directory: string): boolean {
  const pattern = line
    .trim()
    .replace(/^(\*\*\/|\/)/, "")
    .replace(/\/(\*\*?)?$/, "");
  return pattern === directory || pattern === "stormlog-*";
}

/** What is to be appended to a `.gitignore` (null = none yet), in its line ending; empty when it has all of it. */
export function ignoredDirectories(present: string | null): string {
  const lines = (present ?? "").split(/\r?\n/);
  const missing = DIRECTORIES.filter((directory) => !lines.some((line) => covers(line, directory)));
  if (missing.length === 0) return "";
  const end = present?.includes("\r\n") ? "\r\n" : "\n";
  const gap = present === null || present === "" ? "" : /\n$/.test(present) ? end : end + end;
  return [`${gap}# Evidence of Stormlog Gate`, ...missing.map((directory) => `${directory}/`), ""].join(end);
}

/** What a person has to know after the files are there. */
function nextSteps(facts: {
  readonly choices: Choices;
  readonly inRepository: boolean;
  /** Kept workflows of ours that measure another directory. */
  readonly elsewhere: readonly string[];
  /** Why git does not see a repository, where there may be one; null otherwise. */
  readonly refused: string | null;
  /** The words that start this program. */
  readonly program: string;
}): readonly string[] {
  const { choices, inRepository, elsewhere, refused, program } = facts;
  const steps = [
    `Put your command into stormlog-gate.yml and try it: ${program} run`,
    `Add what the scenarios need (Python, data) to memory-gate.yml and memory-baselines.yml where they are marked.`,
    `Commit and merge into ${choices.defaultBranch}: schedules, reports on forks and comments run from there only.`,
    `Protect ${choices.defaultBranch} and start "Memory baselines" once by hand (Actions, Run workflow): the first five runs.`,
  ];
  const notes: string[] = [];
  if (!inRepository) {
    notes.push(
      `${refused === null ? "This is not a git repository" : `git finds no repository here (${refused})`}: put .github/workflows at the top of the one this directory goes into.`,
    );
  }
  if (elsewhere.length > 0) {
    const these = elsewhere.join(" and ");
    notes.push(
      `${these} measures another directory and not this one: add a step with this working-directory and a gate-id of its own, or put all scenarios into one configuration (examples/monorepo).`,
    );
  }
  if (!choices.ownRunner) {
    notes.push("The job measures on a machine without a GPU. --runner LABELS names yours.");
  }
  if (choices.ownRunner && choices.visibility !== "private") {
    notes.push(
      "If the repository is public, code of unknown people runs on your runner: require approval for outside contributors first.",
    );
  }
  if (choices.visibility === "unknown") {
    notes.push("--visibility private makes the comment's picture one that only your readers can open.");
  }
  return [
    "",
    "Next:",
    ...steps.map((step, index) => `  ${index + 1}. ${step}`),
    ...(notes.length === 0 ? [] : ["", ...notes.map((note) => `note: ${note}`)]),
  ];
}

/** The repository that the files are written into. */
interface RepositoryLayout {
  /** Top of the repository, or the current directory where there is none. */
  readonly top: string;
  /** The current directory from there, without a slash at the end. */
  readonly directory: string;
  readonly inRepository: boolean;
  /** Why git does not see a repository, where there may be one, such as another owner's; null otherwise. */
  readonly refused: string | null;
  readonly defaultBranch: string;
}

/** The main branch: the remote's default, else a usual name that exists, else the checked-out one (no commit yet). */
async function defaultBranch(cwd: string): Promise<string> {
  const remote = await git(cwd, ["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]);
  if (remote.ok && remote.stdout.startsWith("origin/")) return remote.stdout.slice("origin/".length);
  for (const name of ["main", "master"]) {
    for (const ref of [`refs/remotes/origin/${name}`, `refs/heads/${name}`]) {
      if ((await git(cwd, ["show-ref", "--verify", "--quiet", ref])).ok) return name;
    }
  }
  const current = await git(cwd, ["symbolic-ref", "--quiet", "--short", "HEAD"]);
  return current.ok && current.stdout !== "" ? current.stdout : "main";
}

function firstLine(text: string): string | null {
  const [line = ""] = text.trim().split("\n");
  return line === "" ? null : line.replace(/^fatal: /, "");
}

/** Detect the repository around a directory, without the network. */
async function detectRepository(cwd: string): Promise<RepositoryLayout> {
  const { problem, top, prefix } = (await viewRepository(cwd)).checkout;
  return {
    top,
    directory: prefix.replace(/\/$/, ""),
    inRepository: problem === null,
    refused: problem === null || /not a git repository/i.test(problem) ? null : firstLine(problem),
    defaultBranch: await defaultBranch(cwd),
  };
}
