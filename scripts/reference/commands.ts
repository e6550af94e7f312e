import { COMMANDS } from "../../src/cli/commands/commands.ts";
import type { CommandSpec, OptionSpec } from "../../src/cli/console/command.ts";
import { RUN_OPTIONS } from "../../src/config/run-options.ts";

const cell = (text: string): string => text.replaceAll("|", "\\|");
/** An option of `run` that means the same here. */
function isOfRun(name: string, { description }: OptionSpec): boolean {
  const option = Object.entries(RUN_OPTIONS).find(([known]) => known === name)?.[1];
  return option !== undefined && description.startsWith(option.description.replaceAll("`", ""));
}
const row = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;

function usage(name: string, hint: string | undefined): string {
  return `\`${hint === undefined ? name : `${name} ${cell(hint)}`}\``;
}

function commandRows({ name, description, positionals, actions, options, takesCommand }: CommandSpec): string {
  const named = [name, ...Object.keys(positionals), ...(takesCommand ? ["-- CMD…"] : [])].join(" ");
  const own = Object.entries(options).filter(([option, spec]) => !isOfRun(option, spec));
  const shared = name === "run" ? [] : Object.keys(options).filter((option) => !own.some(([one]) => one === option));
  const sentences = (text: string): string => cell(`${text.replaceAll("`", "")}.`);
  return [
    row(`\`${cell(named)}\``, "", sentences(description)),
    ...Object.entries(positionals)
      .filter(([positional]) => positional !== "ACTION")
      .map(([positional, meaning]) => row("", `\`${cell(positional)}\``, sentences(meaning))),
    ...Object.entries(actions ?? {}).map(([action, meaning]) => row("", `\`${action}\``, sentences(meaning))),
    ...own.map(([option, { description: meaning, valueHint }]) =>
      row("", usage(`--${option}`, valueHint), sentences(meaning)),
    ),
    ...(shared.length === 0 ? [] : [row("", shared.map((option) => `\`--${option}\``).join(", "), "As of `run`.")]),
  ].join("");
}

/** All commands with their own options, as a table. */
export function commandsTable(): string {
  const rows = Object.values<CommandSpec>(COMMANDS).map(commandRows);
  return `| command | argument or option | meaning |\n|---|---|---|\n${rows.join("")}`;
}
