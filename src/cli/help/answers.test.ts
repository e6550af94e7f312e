import { describe, expect, it } from "vitest";
import { ExitCode } from "../../core/exit-codes.ts";
import { COMMANDS } from "../commands/commands.ts";
import { type CommandSpec, FIRST_GROUP, optionsOf, parseArguments } from "../console/command.ts";
import { commandHelp } from "./answers.ts";

describe.each(Object.entries(COMMANDS))("the help of %s", (name, spec) => {
  it(`the help of ${name} has an example that ${name} accepts`, async () => {
    expect(commandHelp(spec)).toContain(`\nEXAMPLE\n\n  ${spec.example}\n`);
    const [program, command, ...args] = spec.example.split(" ");
    expect([program, command]).toEqual(["stormlog-gate", name]);
    expect(() => parseArguments(spec, args)).not.toThrow();
  });

  it(`explains every positional and action of ${name}, and how it can end`, async () => {
    const help = commandHelp(spec);
    const texts = [...Object.entries(spec.positionals), ...Object.entries(spec.actions ?? {})];
    for (const [word, text] of texts) {
      expect(text.length, word).toBeGreaterThan(8);
      expect(help).toMatch(new RegExp(`^ +${word.replace(/[[\]|]/g, "\\$&")} .*${text.slice(0, 8)}`, "m"));
    }
    expect("ACTION" in spec.positionals).toBe(spec.actions !== undefined);
    const [, exits = ""] = help.split("EXIT STATUS\n\n");
    const codes = [...exits.matchAll(/^ +(\d+) {2}/gm)].map(([, code]) => Number(code));
    expect(codes).toEqual(
      [...new Set([...spec.exits, "usage" as const])].map((exit) => ExitCode[exit]).sort((a, b) => a - b),
    );
  });
});

describe("the help of searches", () => {
  it.each(["bisect", "culprit"])("explains the exit status of %s and offers no configuration file", async (name) => {
    const help = commandHelp(COMMANDS[name] as (typeof COMMANDS)[string]);
    expect(help).toMatch(/^ +0 +found$/m);
    expect(help).toMatch(/^ +5 +invalid input$/m);
    expect(help).toMatch(/^ +6 +not reproducible/m);
    expect(help).not.toContain("--config");
    expect(() => parseArguments(COMMANDS[name] as (typeof COMMANDS)[string], ["--config", "x"])).toThrow(
      expect.objectContaining({ code: "OPTION_UNKNOWN" }),
    );
  });
});

describe("the layout of a command's help", () => {
  it.each(Object.values(COMMANDS))("the help of $name fits into 80 columns and has every option once", (spec) => {
    const help = commandHelp(spec);
    const examples = new Set([`  ${spec.example}`]);
    for (const line of help.split("\n")) if (!examples.has(line)) expect(line.length, line).toBeLessThanOrEqual(80);
    const shown = [...help.matchAll(/^ {2}(?:-\w, )?--([\w-]+)/gm)].map(([, name]) => name);
    expect(shown.sort()).toEqual(Object.keys(optionsOf(spec)).sort());
  });

  it("the help of run begins with the five options that people need first", () => {
    const [, first = ""] = commandHelp(COMMANDS.run as CommandSpec).split(`${FIRST_GROUP}\n\n`);
    const names = [...(first.split("\n\n")[0] ?? "").matchAll(/^ {2}--([\w-]+)/gm)].map(([, name]) => name);
    expect(names).toEqual(["scenario", "baseline", "bundle", "timeout", "budget"]);
  });

  it("a wide terminal has shorter help", () => {
    const lines = (columns: number): number => commandHelp(COMMANDS.run as CommandSpec, columns).split("\n").length;
    expect(lines(100)).toBeLessThan(lines(80));
  });

  it("refuses --quiet beside --verbose", () => {
    expect(() => parseArguments(COMMANDS.show as CommandSpec, ["-q", "-v", "x"])).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
  });
});
