import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { parseArguments } from "../../../src/cli/command.ts";
import type { Console } from "../../../src/cli/console.ts";
import { lab } from "../../../src/cli/lab.ts";

/** A folder that is gone after the test. */
export function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), "stormlog-lab-test-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Run the command in this process; what it printed, and its document. */
export async function run(
  ...args: string[]
): Promise<{ readonly code: number; readonly text: string; readonly document: unknown }> {
  const printed: string[] = [];
  let document: unknown;
  const console: Console = {
    json: true,
    color: false,
    width: 100,
    interactive: false,
    print: (text) => void printed.push(text),
    document: (value) => {
      document = value;
    },
    childOutput: () => () => {},
    progress: null,
  };
  const code = await lab.run({ ...parseArguments(lab, args), console, argv: ["lab", ...args] });
  return { code, text: printed.join("\n"), document };
}
