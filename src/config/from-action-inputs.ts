import { existsSync } from "node:fs";
import path from "node:path";
import { usageError } from "../core/errors.ts";
import type { Command } from "../core/process/command.ts";
import { ciJob, type Environment } from "../core/process/environment.ts";
import type { GateRequest } from "./gate-request.ts";
import { loadConfig } from "./load.ts";
import { gateRequest } from "./options.ts";
import { RUN_OPTION_ENTRIES } from "./run-options.ts";

/** Lines or commas between entries of an input that takes several. */
function entries(text: string | undefined): readonly string[] | undefined {
  const found = text
    ?.split(/[\n,]/)
    .map((one) => one.trim())
    .filter((one) => one !== "");
  return found === undefined || found.length === 0 ? undefined : found;
}

function workingDirectory(input: string | undefined, env: Environment): string {
  const root = path.resolve(ciJob(env).workspace ?? ".", input ?? ".");
  if (!existsSync(root)) throw usageError("DIRECTORY_NOT_FOUND", `working-directory "${input}" does not exist`);
  return root;
}

/** The Action's inputs as one request; empty ones count as not given. @throws GateError as {@link gateRequest} */
export function gateRequestFromInputs(inputs: Environment, env: Environment): GateRequest {
  const input = (name: string): string | undefined => {
    const text = inputs[name]?.trim();
    return text === undefined || text === "" ? undefined : text;
  };
  const root = workingDirectory(input("working-directory"), env);
  const script = inputs.run?.trim();
  const command: Command | null = script ? { kind: "shell", script } : null;
  const named = input("config");
  const file = path.resolve(root, named ?? "stormlog-gate.yml");
  const config = named !== undefined || (command === null && existsSync(file)) ? loadConfig(file) : null;
  return gateRequest({
    options: Object.fromEntries(
      RUN_OPTION_ENTRIES.flatMap(([name, { input: given, multiple }]) =>
        given === undefined ? [] : [[name, multiple ? entries(input(given.name)) : input(given.name)]],
      ),
    ),
    command,
    config,
    configFile: config === null ? undefined : file,
    root,
    // Where the Action looks for a baseline when the workflow names none, in order.
    defaultBaselines: ["ref:refs/stormlog/baselines", "file:baselines"],
    defaultUnjudged: "warn",
    argv: [
      "stormlog/gate",
      ...(input("scenario") === undefined ? [] : ["--scenario", input("scenario") as string]),
      ...(script ? ["--", script] : []),
    ],
    env,
  });
}
