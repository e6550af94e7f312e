import { usageError } from "../../core/errors.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { readSnapshotFiles } from "../../inputs/snapshot-input.ts";
import { renderDifferenceTerminal, renderSnapshotTerminal } from "../../report/terminal/snapshot-terminal.ts";
import { snapshotDocument } from "../../snapshot/live/document.ts";
import { type SnapshotDifference, snapshotDifference } from "../../snapshot/live/peak-difference.ts";
import type { Invocation } from "../console/command.ts";
import { writeOutputFile } from "../console/console.ts";

export async function snapshot({ positionals, text, flags, console }: Invocation): Promise<number> {
  const output = outputOf(text.output, flags.diff === true);
  if (flags.diff === true) return compareSnapshots(positionals, text.root ?? process.cwd(), output, { flags, console });
  const document = snapshotDocument(readSnapshotFiles(positionals), { root: text.root ?? process.cwd() });
  if (!console.json) console.print(renderSnapshotTerminal(document, console));
  console.document(document);
  const grows = [...document.growth, ...document.survivors].some(({ trend }) => trend === "grows");
  return flags["exit-code"] === true && grows ? ExitCode.findings : ExitCode.pass;
}

const FORMATS = ["md", "svg", "png"] as const;

interface Output {
  readonly file: string;
  readonly format: (typeof FORMATS)[number];
}

function outputOf(file: string | undefined, isDifference: boolean): Output | null {
  if (file === undefined) return null;
  if (!isDifference)
    throw usageError("ARGUMENT_UNEXPECTED", "--output belongs to --diff", "Print the document with --json.");
  const format = FORMATS.find((one) => file.endsWith(`.${one}`));
  if (format !== undefined) return { file, format };
  const endings = FORMATS.map((one) => `.${one}`).join(", ");
  throw usageError(
    "FORMAT_UNKNOWN",
    `the name of "${file}" has none of the endings ${endings}`,
    "The ending says what is written.",
  );
}

/** The files of a difference: markdown, or a picture for light and one for dark pages. */
async function filesOf(document: SnapshotDifference, { file, format }: Output) {
  if (format === "md") {
    const { renderPeaksMarkdown } = await import("../../report/markdown/peaks-markdown.ts");
    return [{ file, content: renderPeaksMarkdown(document) }];
  }
  const [{ renderPeaksSvg }, { svgToPng }] = await Promise.all([
    import("../../report/peaks/peaks-svg.ts"),
    import("../../report/timeline/timeline-png.ts"),
  ]);
  const named = { light: file, dark: file.replace(/(?=\.\w+$)/, "-dark") } as const;
  return Promise.all(
    (["light", "dark"] as const).map(async (theme) => {
      const svg = renderPeaksSvg(document, theme);
      return { file: named[theme], content: format === "svg" ? svg : await svgToPng(svg) };
    }),
  );
}

/** The peaks of two snapshots, of any processes, by line. */
export async function compareSnapshots(
  files: readonly string[],
  root: string,
  output: Output | null,
  { flags, console }: Pick<Invocation, "flags" | "console">,
): Promise<number> {
  const [before, after, ...more] = readSnapshotFiles(files);
  if (before === undefined || after === undefined || more.length > 0) {
    throw usageError("ARGUMENT_UNEXPECTED", "--diff compares two snapshots", "Name the earlier one first.");
  }
  const document = snapshotDifference(before, after, { root });
  if (!console.json) console.print(renderDifferenceTerminal(document, console));
  if (output !== null) {
    for (const { file, content } of await filesOf(document, output)) writeOutputFile(file, content);
  }
  console.document(document);
  const isHigher = document.devices.some(({ difference_bytes: bytes }) => bytes > 0);
  return flags["exit-code"] === true && isHigher ? ExitCode.findings : ExitCode.pass;
}
