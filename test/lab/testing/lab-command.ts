import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { COMMANDS } from "../../../src/cli/commands/commands.ts";
import { lab } from "../../../src/cli/commands/lab.ts";
import { parseArguments } from "../../../src/cli/console/command.ts";
import type { Console } from "../../../src/cli/console/console.ts";

/** A directory that is deleted after the test. */
export function directory(): string {
  const made = mkdtempSync(path.join(tmpdir(), "stormlog-lab-test-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A console of 100 columns that passes its output on. */
export function quietConsole(print: (text: string) => void, document: (value: unknown) => void = () => {}): Console {
  return {
    json: true,
    color: false,
    quiet: false,
    width: 100,
    interactive: false,
    print,
    document,
    childOutput: () => () => {},
    progress: null,
  };
}

export interface Ran {
  readonly code: number;
  readonly text: string;
  readonly document: unknown;
}

/** Run the command in this process; what it printed, and its document. */
export function run(...args: string[]): Promise<Ran> {
  return runWatched(() => {}, ...args);
}

/** The same, passing on what is printed as it arrives. */
export async function runWatched(onText: (text: string) => void, ...args: string[]): Promise<Ran> {
  const printed: string[] = [];
  let document: unknown;
  const console = quietConsole(
    (text) => {
      printed.push(text);
      onText(text);
    },
    (value) => {
      document = value;
    },
  );
  const code = await lab({ ...parseArguments(COMMANDS.lab!, args), console, argv: ["lab", ...args] });
  return { code, text: printed.join("\n"), document };
}
