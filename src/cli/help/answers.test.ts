import { describe, expect, it } from "vitest";
import { ExitCode } from "../../core/exit-codes.ts";
import { COMMANDS } from "../commands/commands.ts";
import { parseArguments } from "../console/command.ts";
import { commandHelp } from "./answers.ts";

describe.each(Object.entries(COMMANDS))("the help of %s", (name, spec) => {
  it(`the help of ${name} has an example that ${name} accepts`, async () => {
    expect(await commandHelp(spec)).toContain(`\nEXAMPLE\n\n  ${spec.example}\n`);
    const [program, command, ...args] = spec.example.split(" ");
    expect([program, command]).toEqual(["stormlog-gate", name]);
    expect(() => parseArguments(spec, args)).not.toThrow();
  });

  it(`explains every positional and action of ${name}, and how it can end`, async () => {
    const help = await commandHelp(spec);
    const texts = [...Object.entries(spec.positionals), ...Object.entries(spec.actions ?? {})];
    for (const [word, text] of texts) {
      expect(text.length, word).toBeGreaterThan(8);
      expect(help).toMatch(
        new RegExp(`^ +${word.replace(/[[\]]/g, "").replace("|", "\\|")} .*${text.slice(0, 8)}`, "m"),
      );
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
    const help = await commandHelp(COMMANDS[name] as (typeof COMMANDS)[string]);
    expect(help).toMatch(/^ +0 {4}found$/m);
    expect(help).toMatch(/^ +5 {4}invalid input$/m);
    expect(help).toMatch(/^ +6 {4}not reproducible/m);
    expect(help).not.toContain("--config");
    expect(() => parseArguments(COMMANDS[name] as (typeof COMMANDS)[string], ["--config", "x"])).toThrow(
      expect.objectContaining({ code: "OPTION_UNKNOWN" }),
    );
  });
});
