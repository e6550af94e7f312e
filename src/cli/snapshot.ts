import { ExitCode } from "../core/exit-codes.ts";
import { readSnapshotFiles } from "../inputs/snapshot-input.ts";
import { renderSnapshotTerminal } from "../report/terminal/snapshot-terminal.ts";
import { snapshotDocument } from "../snapshot/document.ts";
import type { CommandSpec } from "./command.ts";

export const snapshot: CommandSpec = {
  name: "snapshot",
  description: "Live memory of PyTorch snapshots by source line, and the lines that grow over several of them",
  positionals: { "FILE…": "Memory snapshots of PyTorch, in the order they were taken" },
  example: "stormlog-gate snapshot step-100.pickle step-200.pickle",
  exits: ["pass", "error", "findings", "invalidInput"],
  options: {
    root: {
      type: "string",
      description: "Directory that source files are named from (default: here)",
      valueHint: "DIR",
    },
    "exit-code": { type: "boolean", description: "Exit 3 when a line grows" },
  },
  run: async ({ positionals, text, flags, console }) => {
    const document = snapshotDocument(readSnapshotFiles(positionals), { root: text.root ?? process.cwd() });
    if (!console.json) console.print(renderSnapshotTerminal(document, { color: console.color, width: console.width }));
    console.document(document);
    const grows = [...document.growth, ...document.survivors].some(({ trend }) => trend === "grows");
    return flags["exit-code"] === true && grows ? ExitCode.findings : ExitCode.pass;
  },
};
