import { realpathSync, statSync } from "node:fs";
import path from "node:path";
import { scenarioDirectory } from "../../baseline/identity.ts";
import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import { isWorkflow } from "../../core/process/environment.ts";
import { hideSecrets } from "../../core/process/hide-secrets.ts";
import { git, isTreeModified } from "../../git/git.ts";
import { namedBase, type RepositoryView } from "../../git/repository-view.ts";
import { argvOf } from "../../measure/session/request.ts";
import type { ScenarioReport } from "../../report/model/gate-report.ts";
import type { Invocation } from "../../report/model/report-schema.ts";

/** What the run cannot do without, as far as that is known: files of the command, config file, baseline record. */
function neededFiles({ source, root }: GateRequest, scenario: ScenarioRequest, baseline: string | null): string[] {
  const { command, cwd, name } = scenario;
  const words = command.kind === "argv" ? command.argv : command.script.split(/[\s;&|()"'=]+/);
  const [, directory] = /^file:(.+)$/s.exec(baseline ?? "") ?? [];
  return [
    ...words
      .map((word) => path.resolve(cwd, word))
      .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile()),
    ...(source === undefined ? [] : [source.file]),
    ...(directory === undefined ? [] : [path.resolve(root, directory, scenarioDirectory(name))]),
  ];
}

/** A path without symbolic links, as git names the top of its tree; unchanged where it cannot be resolved. */
function resolved(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** Whether tracked files, or new ones that the run needs, differ from the commit. */
async function isModified(top: string, needed: readonly string[]): Promise<boolean> {
  const inside = needed.map(resolved).filter((file) => !path.relative(top, file).startsWith(".."));
  const [tracked, added] = await Promise.all([
    isTreeModified(top),
    inside.length === 0
      ? null
      : git(top, ["--literal-pathspecs", "ls-files", "--others", "--exclude-standard", "--", ...inside]),
  ]);
  return tracked === true || (added?.ok === true && added.stdout !== "");
}

/** How this gate measures a scenario, without secrets; null where that is too long to repeat. */
export async function invocationOf(
  request: GateRequest,
  scenario: ScenarioRequest,
  { baseline }: ScenarioReport,
  { checkout }: RepositoryView,
): Promise<Invocation | null> {
  const { root, env, source } = request;
  const isTracked = checkout.problem === null;
  const hidden = (words: readonly string[]): string[] => [...hideSecrets(words)];
  const invocation: Invocation = {
    directory: isTracked ? checkout.prefix.replace(/\/$/, "") : null,
    config: source === undefined ? null : path.relative(root, source.file),
    command: scenario.definition === null ? hidden(argvOf(scenario.command)) : null,
    options: hidden(request.givenOptions),
    baselines: request.usualBaselines ? null : hidden(request.baselines),
    base: namedBase(env),
    fetch: isWorkflow(env),
    modified: isTracked && (await isModified(checkout.top, neededFiles(request, scenario, baseline?.source ?? null))),
  };
  // Documents would cut a longer command.
  return JSON.stringify(invocation).length > 8000 ? null : invocation;
}
