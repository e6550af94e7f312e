import { replaceHidden, shellWord } from "../../core/escape.ts";
import { hideSecrets } from "../../core/process/hide-secrets.ts";
import type { GateReport, ScenarioReport } from "../model/gate-report.ts";
import type { Invocation } from "../model/report-schema.ts";
import { nameInLeg } from "./next-steps.ts";

/** How to see a red verdict again elsewhere. */
export interface Reproduction {
  /** One line for a POSIX shell, to run in a clone of the repository. Contains outside text, quoted for the shell. */
  readonly command: string;
  /** What may differ there, as one clause; null when nothing is known. Outside text. */
  readonly differs: string | null;
}

/** Copy of a config file from another directory: its paths start at the directory of the gate. */
const COPIED_CONFIG = "stormlog-gate.reproduce.yml";

/** A word on one line: with line breaks or hidden characters, `printf` makes it from their octal numbers. */
function word(text: string): string {
  const octal = (character: string): string =>
    [...Buffer.from(character)].map((byte) => `\\0${byte.toString(8).padStart(3, "0")}`).join("");
  if (!/[\t\n]/.test(text) && replaceHidden(text, octal) === text) return shellWord(text);
  const encoded = replaceHidden(text.replaceAll("\\", "\\\\").replace(/[\t\n]/g, octal), octal);
  return `"$(printf %b ${shellWord(encoded)})"`;
}

/** An option as the command line reads it, also with a value that looks like an option. */
const option = (name: string, value: string): string[] =>
  value.startsWith("-") ? [`${name}=${value}`] : [name, value];

const words = (list: readonly string[]): string => hideSecrets(list).map(word).join(" ");

/** Options for the baseline that was compared with. */
function baselineOptions({ baselines }: Invocation, source: string | null): string[] {
  if (baselines === null) return [];
  const local = (spec: string): boolean => !/^(?:ref|artifact):/.test(spec);
  const specs = source === null ? baselines.filter(local) : [source].filter((spec) => !spec.startsWith("artifact:"));
  // Baseline that the command line looks for without an option.
  if (specs.join() === "file:baselines") return [];
  return (specs.length === 0 ? ["none"] : specs).flatMap((spec) => option("--baseline", spec));
}

/** The steps before the run: the measured commit, the baseline's ref and the directory. */
function preparation(invocation: Invocation, commit: string | null, source: string | null): string[] {
  const { directory, fetch, modified } = invocation;
  if (directory === null) return [];
  const here = directory === "" ? [] : [`cd "$(git rev-parse --show-toplevel)"/${word(directory)}`];
  // Changes that are not committed exist only in the working tree, where the gate was started.
  if (modified && !fetch) return here;
  const [, ref] = /^ref:(refs\/[\w./-]+)$/.exec(source ?? "") ?? [];
  const sha = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(commit ?? "") ? commit : null;
  const fetched = fetch ? [...(sha === null ? [] : [sha]), ...(ref === undefined ? [] : [`${ref}:${ref}`])] : [];
  return [
    ...(fetched.length === 0 ? [] : [`git fetch origin ${words(fetched)}`]),
    ...(sha === null ? [] : [`git checkout ${sha}`]),
    ...here,
  ];
}

/** The run itself, and what it needs of the config file. */
function runSteps(scenario: ScenarioReport, invocation: Invocation, isPolicyChanged: boolean): string[] {
  const { config, command, options, base } = invocation;
  // A merged report adds the name of the leg.
  const name = nameInLeg(scenario) ?? scenario.scenario;
  const isCopied = command === null && config !== null && config.includes("/");
  const file = isCopied ? COPIED_CONFIG : config;
  const run = [
    ...(file === null || (command === null && file === "stormlog-gate.yml") ? [] : option("--config", file)),
    ...(command !== null && name === "default" ? [] : option("--scenario", name)),
    ...baselineOptions(invocation, scenario.baseline?.source ?? null),
    ...options,
    ...(command === null ? [] : ["--", ...command]),
  ];
  // Only in a pipeline is a change judged by the settings of its base commit.
  const pipeline = isPolicyChanged && base !== null ? ["CI=true", `STORMLOG_GATE_BASE=${word(base)}`] : [];
  return [
    ...(isCopied ? [`cp ${word(config)} ${COPIED_CONFIG}`] : []),
    [...pipeline, "npx stormlog-gate run", ...(run.length === 0 ? [] : [words(run)])].join(" "),
  ];
}

/** The recorded environment as far as it is known: "Ubuntu 24.04, NVIDIA A100, torch 2.4, Python 3.11". */
function recordedOn({ fingerprint }: ScenarioReport): string | null {
  const known = (field: string): string | null => {
    const value = Object.hasOwn(fingerprint, field) ? fingerprint[field] : null;
    return value === null || value === undefined || value === "" ? null : String(value);
  };
  const ranks = Number(known("world_size"));
  const framework = known("framework");
  const allocator = known("allocator_settings");
  const python = known("python");
  const parts = [
    known("os"),
    known("device_model"),
    known("mig_profile"),
    framework === null ? null : [framework, known("framework_version") ?? []].flat().join(" "),
    python === null ? null : `Python ${python}`,
    ranks > 1 ? `${ranks} ranks` : null,
    allocator === "default" ? null : allocator,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : `recorded on: ${parts.join(", ")}`;
}

/** The command that measures a red scenario again, and what may differ there; null when the report lacks its start. */
export function reproduceCommand(
  report: Pick<GateReport, "commit" | "policy_changes">,
  scenario: ScenarioReport,
): Reproduction | null {
  const { invocation } = scenario;
  if (invocation === undefined) return null;
  const source = scenario.baseline?.source ?? null;
  const command = [
    ...preparation(invocation, report.commit, source),
    ...runSteps(scenario, invocation, (report.policy_changes ?? []).length > 0),
  ].join(" && ");
  const differences = [
    recordedOn(scenario),
    !invocation.modified
      ? null
      : invocation.fetch
        ? "the job had changed files of the commit"
        : "only this working tree has the uncommitted changes",
    source?.startsWith("artifact:") === true ? `${source} can be read in a workflow only` : null,
    command.includes("***") ? "*** stands for a secret" : null,
  ].filter((difference) => difference !== null);
  return { command, differs: differences.length === 0 ? null : differences.join("; ") };
}
