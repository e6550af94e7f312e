import { styleText } from "node:util";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { writeDiagnoseDirectory } from "../../doctor/diagnose-directory.ts";
import { diagnose } from "../../doctor/doctor.ts";
import type { Diagnosis } from "../../doctor/doctor-devices.ts";
import { wrapText } from "../../report/terminal/terminal-table.ts";
import type { Invocation } from "../console/command.ts";

const MARK = { ok: ["✓", "green"], limited: ["–", "yellow"], missing: ["✗", "red"] } as const;

function rows({ name, status, detail, hint }: Diagnosis, nameWidth: number, width: number, color: boolean): string {
  const [mark, tint] = MARK[status];
  const shown = color ? styleText(tint, mark) : mark;
  const indent = " ".repeat(nameWidth + 4);
  // Minimum width of wrapped texts on a narrow terminal.
  const room = Math.max(width - indent.length - 2, 40);
  const advice = (hint?.split("\n") ?? []).flatMap((each) =>
    wrapText(escapeTerminal(each), room, "").map((line, i) => `${indent}${i === 0 ? "→ " : "  "}${line}`),
  );
  const [first = "", ...more] = wrapText(escapeTerminal(detail), room + 2, "");
  return [
    `${shown} ${escapeTerminal(name).padEnd(nameWidth)}  ${first}`,
    ...more.map((line) => `${indent}${line}`),
    ...advice,
  ].join("\n");
}

export async function doctor({ text, console, argv }: Invocation): Promise<number> {
  const { findings, devices } = await diagnose(process.cwd());
  const width = Math.max(...findings.map(({ name }) => name.length));
  for (const one of findings) console.print(rows(one, width, console.width, console.color));
  let directory: string | null = null;
  if (text.output !== undefined) {
    directory = await writeDiagnoseDirectory(text.output, argv, findings, devices);
    console.print(`\nDiagnose directory: ${escapeTerminal(directory)}`);
  }
  console.document({ findings, directory });
  return findings.some(({ status }) => status === "missing") ? ExitCode.error : ExitCode.pass;
}
