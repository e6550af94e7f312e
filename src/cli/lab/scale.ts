import path from "node:path";
import { GateError, usageError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { selectPatterns } from "../../lab/catalogue.ts";
import { SCALE_AXES, type ScaleAxis } from "../../lab/report/scale-document.ts";
import { answerText, formatSize, probeText, theoryText } from "../../lab/report/scale-table.ts";
import { searchScale } from "../../lab/scale.ts";
import { SCALE_FILE, SCALE_PICTURE } from "../../lab/scale-files.ts";
import { checkSetting, LAB_SCALES, type LabScale, type ScaleSetting, usualBounds } from "../../lab/scale-size.ts";
import { wrapText } from "../../report/terminal/terminal-table.ts";
import type { Invocation } from "../console/command.ts";
import { consolePorts, interruptSignal } from "../console/ports.ts";
import { shownPath } from "../console/program.ts";
import { baselineRuns, choice, DEVICES, SCALE_DIRECTORY, SCALES, whole } from "./options.ts";

/** Maximum ratio of the smallest visible to the largest invisible size: other days may differ by over a quarter. */
const FACTOR = 1.25;
const MAX = 10_000_000;

function isLabScale(text: string): text is LabScale {
  return Object.hasOwn(LAB_SCALES, text);
}

function settingOf({ text }: Invocation): ScaleSetting {
  const scale = choice("scale", text.scale, SCALES, "tiny");
  const by = SCALE_AXES.find((axis) => axis === (text.by ?? "steps"));
  if (by === undefined) throw usageError("OPTION_INVALID", `--by "${text.by}" is not one of ${SCALE_AXES.join(", ")}`);
  if (!isLabScale(scale)) throw usageError("OPTION_INVALID", `--scale "${scale}" has no sizes to search from`);
  const size = (name: "steps" | "batch"): number | null => {
    const given = text[name];
    return given === undefined ? null : whole(name, given, MAX);
  };
  return { by, scale, steps: size("steps"), batch: size("batch") };
}

/** A sentence in lines, the later ones indented further. */
function sentence(words: string, width: number, indent: string, later: string): string {
  return wrapText(escapeTerminal(words), Math.max(40, width - indent.length), later)
    .map((line) => indent + line)
    .join("\n");
}

/** `lab scale`: from which size on the gate sees a pattern's leak. */
export async function scalePattern(invocation: Invocation): Promise<number> {
  const { console, text, positionals, argv } = invocation;
  const [, name, ...more] = positionals;
  if (name === undefined || more.length > 0)
    throw usageError("ARGUMENT_MISSING", "`lab scale` needs one pattern", "`stormlog-gate lab list` names them.");
  const [entry] = selectPatterns([name]);
  if (entry === undefined) throw new Error("a known pattern has no entry");
  const setting = settingOf(invocation);
  checkSetting(entry, setting);
  const usual = usualBounds(setting);
  const to = text.to === undefined ? null : whole("to", text.to, MAX);
  const from = text.from === undefined ? Math.min(usual.from, to ?? usual.from) : whole("from", text.from, MAX);
  const bounds = { from, to: to ?? Math.max(usual.to, from), factor: FACTOR };
  if (bounds.to < from) throw usageError("OPTION_INVALID", `--from ${from} is above --to ${bounds.to}`);
  const runs = baselineRuns(text.runs);
  const directory = path.resolve(text.output ?? path.join(SCALE_DIRECTORY, entry.name));
  const interrupt = interruptSignal();
  const { by }: { readonly by: ScaleAxis } = setting;
  const note = (words: string): void => console.print(sentence(words, console.width, "  ", "   "));
  console.print(`${entry.name}: ${entry.title}`);
  const document = await searchScale(
    {
      entry,
      setting,
      directory,
      bounds,
      runs,
      device: choice("device", text.device, DEVICES, "auto"),
      python: text.python?.includes("/") ? path.resolve(text.python) : (text.python ?? "python3"),
      argv,
      env: process.env,
    },
    {
      baseline: (value, count) => note(`${count} fixed runs of ${formatSize(by, value)} become a baseline`),
      guessed: (theory) => note(theoryText({ by, theory, from: bounds.from, to: bounds.to })),
      probed: (probe, number) => note(`${number}. ${probeText(by, probe)}`),
    },
    consolePorts(console, interrupt, true),
  );
  const shown = (file: string): string => escapeTerminal(shownPath(path.join(directory, file)));
  console.print(`\n${sentence(answerText(document), console.width, "", "")}`);
  console.print(`${shown(SCALE_FILE)}, ${shown(SCALE_PICTURE)} and the evidence beside them have the details.`);
  console.document(document);
  if (interrupt.aborted) return ExitCode.interrupted;
  if (document.answer.kind === "broken") {
    throw new GateError("LAB_SCALE_BROKEN", document.answer.reason, {
      where: shown(SCALE_FILE),
      hint: "Fix that first: until then the size cannot be judged.",
    });
  }
  return ExitCode.pass;
}
