import { styleText } from "node:util";
import { escapeTerminal } from "../core/escape.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { writeDiagnoseDirectory } from "../gate/diagnose-directory.ts";
import { type Diagnosis, diagnose } from "../gate/doctor.ts";
import type { CommandSpec } from "./command.ts";

const MARK = { ok: ["✓", "green"], limited: ["–", "yellow"], missing: ["✗", "red"] } as const;

function line({ name, status, detail, hint }: Diagnosis, width: number, color: boolean): string {
  const [mark, tint] = MARK[status];
  const shown = color ? styleText(tint, mark) : mark;
  const advice = hint === null ? "" : `\n  ${" ".repeat(width + 2)}${escapeTerminal(hint)}`;
  return `${shown} ${escapeTerminal(name).padEnd(width)}  ${escapeTerminal(detail)}${advice}`;
}

export const doctor: CommandSpec = {
  name: "doctor",
  description: "What can be measured here; for everything else, why not",
  positionals: [],
  options: { output: { type: "string", description: "Also write a Stormlog diagnose directory", valueHint: "DIR" } },
  run: async ({ text, console, argv }) => {
    const diagnoses = await diagnose(process.cwd());
    const width = Math.max(...diagnoses.map(({ name }) => name.length));
    for (const one of diagnoses) console.print(line(one, width, console.color));
    let directory: string | null = null;
    if (text.output !== undefined) {
      directory = await writeDiagnoseDirectory(text.output, argv, diagnoses);
      console.print(`\nDiagnose directory: ${escapeTerminal(directory)}`);
    }
    console.document({ findings: diagnoses, directory });
    return diagnoses.some(({ status }) => status === "missing") ? ExitCode.error : ExitCode.pass;
  },
};
