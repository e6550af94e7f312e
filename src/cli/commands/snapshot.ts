import { usageError } from "../../core/errors.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { readSnapshotFiles } from "../../inputs/snapshot-input.ts";
import { renderDifferenceTerminal, renderSnapshotTerminal } from "../../report/terminal/snapshot-terminal.ts";
import { snapshotDocument } from "../../snapshot/live/document.ts";
import { snapshotDifference } from "../../snapshot/live/peak-difference.ts";
import type { Invocation } from "../console/command.ts";

export async function snapshot({ positionals, text, flags, console }: Invocation): Promise<number> {
  const root = text.root ?? process.cwd();
  if (flags.diff === true) return compareSnapshots(positionals, root, { flags, console });
  const document = snapshotDocument(readSnapshotFiles(positionals), { root });
  if (!console.json) console.print(renderSnapshotTerminal(document, console));
  console.document(document);
  const grows = [...document.growth, ...document.survivors].some(({ trend }) => trend === "grows");
  return flags["exit-code"] === true && grows ? ExitCode.findings : ExitCode.pass;
}

/** The peaks of two snapshots, of any processes, by line. */
export async function compareSnapshots(
  files: readonly string[],
  root: string,
  { flags, console }: Pick<Invocation, "flags" | "console">,
): Promise<number> {
  const [before, after, ...more] = readSnapshotFiles(files);
  if (before === undefined || after === undefined || more.length > 0) {
    throw usageError("ARGUMENT_UNEXPECTED", "--diff compares two snapshots", "Name the earlier one first.");
  }
  const document = snapshotDifference(before, after, { root });
  if (!console.json) console.print(renderDifferenceTerminal(document, console));
  console.document(document);
  const isHigher = document.devices.some(({ difference_bytes: bytes }) => bytes > 0);
  return flags["exit-code"] === true && isHigher ? ExitCode.findings : ExitCode.pass;
}
