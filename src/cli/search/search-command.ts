import { randomUUID } from "node:crypto";
import path from "node:path";
import { gateJudge } from "../../bisect/judge-state.ts";
import { type FinishedSearch, runSearch, type Subject, searchCost } from "../../bisect/run-search.ts";
import { openState, type Step } from "../../bisect/state.ts";
import { toolEnvironment } from "../../bisect/tool-environment.ts";
import { gateRequest } from "../../config/options.ts";
import { usageError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { isWorkflow } from "../../core/process/environment.ts";
import { oneLine } from "../../core/text.ts";
import type { Invocation } from "../console/command.ts";
import { consolePorts } from "../console/ports.ts";
import { shownPath } from "../console/program.ts";

/** A search of one command line, ready to run. */
export interface Search {
  /** What is searched, as canonical text. */
  readonly identity: Readonly<Record<string, unknown>>;
  readonly subject: Subject;
  readonly defaultOutput: string;
  readonly interrupt: AbortSignal;
}

/**
 * The environment that a search gives to builds, installations and measured commands. What they lack of the caller's
 * is printed, and what they may read of it all the same.
 */
export function searchEnvironment({ console }: Pick<Invocation, "console">): Record<string, string> {
  const { env, dropped, secrets } = toolEnvironment(process.env);
  const names = (list: readonly string[]): string => escapeTerminal(oneLine(list.join(", ")));
  if (dropped.length > 0) {
    console.print(`Not passed on: ${names(dropped)}. Set what the command needs in it: env NAME=VALUE CMD.`);
  }
  if (secrets.length > 0) {
    const where = "in the environment of the processes that started this one";
    console.print(`warning: the searched code may read ${names(secrets)} ${where}; start the search without them.`);
  }
  return env;
}

/** @throws GateError SEARCH_IN_ACTION, OPTION_MISSING, NO_COMMAND (usage) */
export function checkSearch({ text, flags, rest }: Invocation): {
  readonly good: string;
  readonly bad: string;
  readonly command: readonly string[];
} {
  if (isWorkflow(process.env) && flags["in-action"] !== true) {
    throw usageError(
      "SEARCH_IN_ACTION",
      "a search runs code of many states, and is not started in a workflow unless asked",
      "Add --in-action in a job without secrets or write permission.",
    );
  }
  const { good, bad } = text;
  if (!good || !bad) throw usageError("OPTION_MISSING", "--good and --bad are needed");
  if (rest === null) throw usageError("NO_COMMAND", "there is nothing to run", "Give a command after `--`.");
  return { good, bad, command: rest };
}

/** Run a search to its end. @throws GateError of the search */
export async function search(invocation: Invocation, command: readonly string[], asked: Search) {
  const { text, lists, console, flags } = invocation;
  const directory = path.resolve(text.output ?? asked.defaultOutput);
  const { good: _good, bad: _bad, output: _output, setup: _setup, tool: _tool, ...options } = text;
  const subject = JSON.stringify({ ...asked.identity, command, options, budget: lists.budget ?? [] });
  const state = await openState(directory, { subject, session: randomUUID() }, flags.resume === true);
  const ports = consolePorts(console, asked.interrupt, true);
  const judge = gateJudge(
    directory,
    ({ cwd, env }, bundle, baselines) =>
      gateRequest({
        options: { ...options, ...lists, bundle, "base-run": "off" },
        command: { kind: "argv", argv: command },
        config: null,
        root: cwd,
        defaultBaselines: baselines,
        defaultUnjudged: "pass",
        argv: invocation.argv,
        env: { ...env, STORMLOG_GATE_SESSION: state.session },
        debug: flags.debug === true,
      }),
    ports,
  );
  const finished = await runSearch(directory, state, asked.subject, judge, ports);
  return { ...finished, directory };
}

const printed = (text: string): string => escapeTerminal(oneLine(text));

/** Print what was found and return the exit status. `named` has the changes of the answer for a person and for JSON. */
export function printSearch(
  { console }: Pick<Invocation, "console">,
  { result, steps, directory }: FinishedSearch & { readonly directory: string },
  named: { readonly lines: readonly string[]; readonly changes: readonly unknown[] },
): number {
  console.print("");
  const isOne = result.kind === "found" && named.changes.length === 1;
  switch (result.kind) {
    case "found": {
      for (const line of named.lines) console.print(printed(line));
      console.print(`  ${printed(result.red.sentence)}`);
      if (result.bad.sentence !== result.red.sentence) console.print(`  bad: ${printed(result.bad.sentence)}`);
      if (result.red.bundle !== null) console.print(`  evidence: ${printed(shownPath(result.red.bundle))}`);
      break;
    }
    case "not-reproducible":
      console.print(`Not reproducible: ${result.reason}.`);
      for (const { name, verdict, sentence, bundle } of steps) {
        const evidence = bundle === null ? "" : ` (${printed(shownPath(bundle))})`;
        console.print(`  ${printed(name)}: ${verdict ?? "skipped"}, ${printed(sentence)}${evidence}`);
      }
      break;
    case "undecided":
      console.print("Not reproducible: the verdicts of single states contradict each other. Likely changes:");
      for (const line of named.lines) console.print(`  ${printed(line)}`);
      break;
  }
  console.print(`${searchCost(steps)}: ${printed(shownPath(directory))}`);
  console.document({
    result: result.kind === "found" && !isOne ? "together" : result.kind,
    reason: result.kind === "not-reproducible" ? result.reason : null,
    probability: result.kind === "found" ? result.probability : null,
    changes: named.changes,
    bundle: result.kind === "found" ? result.red.bundle : null,
    sentence: result.kind === "found" ? result.red.sentence : null,
    steps: steps.map(({ included, ...rest }: Step) => ({ ...rest, included: included.length })),
  });
  return isOne ? ExitCode.pass : ExitCode.unjudged;
}
