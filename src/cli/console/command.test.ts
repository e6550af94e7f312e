import { describe, expect, it } from "vitest";
import { type CommandSpec, parseArguments, splitCommand } from "./command.ts";

const SPEC: CommandSpec = {
  name: "run",
  summary: "",
  description: "",
  positionals: {},
  example: "",
  exits: [],
  takesCommand: true,
  options: {
    budget: { type: "string", multiple: true, description: "" },
    bundle: { type: "string", description: "" },
    force: { type: "boolean", description: "" },
  },
};
const FILES: CommandSpec = { ...SPEC, name: "analyze", positionals: { "FILE…": "" } };
const { takesCommand: _, ...NO_COMMAND } = { ...SPEC, name: "show", positionals: { BUNDLE: "", "[ITEM]": "" } };

describe("the command line", () => {
  it("never reads arguments behind the first bare --", () => {
    expect(splitCommand(["--json", "--", "python", "--", "--budget", "x"])).toEqual({
      own: ["--json"],
      rest: ["python", "--", "--budget", "x"],
    });
  });

  it("collects repeated options and keeps single ones", () => {
    const parsed = parseArguments(SPEC, [
      "--budget",
      "host=1GiB",
      "--budget=used=2GiB",
      "--bundle",
      "b",
      "--force",
      "--",
      "true",
    ]);
    expect(parsed.lists.budget).toEqual(["host=1GiB", "used=2GiB"]);
    expect(parsed.text.bundle).toBe("b");
    expect(parsed.flags.force).toBe(true);
    expect(parsed.rest).toEqual(["true"]);
  });

  it.each([
    [["--bundle", "a", "--bundle", "b"], "--bundle"],
    [["--bundle=a", "--bundle=a"], "--bundle"],
    [["--config", "a", "--budget", "host=1GiB", "--config=b"], "--config"],
  ])("refuses a second value of an option that is not repeatable: %j", (args, option) => {
    expect(() => parseArguments(SPEC, args)).toThrowError(
      expect.objectContaining({ code: "OPTION_INVALID", exitCode: 2, message: `${option} is given more than once` }),
    );
  });

  it("accepts a repeated flag, and ignores repeats in the measured command or beside --help", () => {
    expect(parseArguments(SPEC, ["--force", "--force"]).flags.force).toBe(true);
    expect(parseArguments(SPEC, ["--", "x", "--bundle", "a", "--bundle", "b"]).rest).toHaveLength(5);
    expect(parseArguments(SPEC, ["--bundle", "a", "--bundle", "b", "--help"]).flags.help).toBe(true);
  });

  it.each([
    [SPEC, ["--bugdet", "x"], "OPTION_UNKNOWN"],
    [SPEC, ["--bundle"], "OPTION_UNKNOWN"],
    [SPEC, ["--force=yes"], "OPTION_UNKNOWN"],
    [SPEC, ["python", "train.py"], "ARGUMENT_UNEXPECTED"],
    [SPEC, ["--"], "NO_COMMAND"],
    [FILES, [], "ARGUMENT_MISSING"],
    [NO_COMMAND, ["a", "b", "c"], "ARGUMENT_UNEXPECTED"],
    [NO_COMMAND, ["a", "--", "true"], "ARGUMENT_UNEXPECTED"],
  ])("refuses case %# as a usage error", (spec, args, code) => {
    expect(() => parseArguments(spec as CommandSpec, args)).toThrowError(
      expect.objectContaining({ code, exitCode: 2 }),
    );
  });

  it.each([
    [["--bugdet", "x"], "Did you mean --budget\\? See"],
    [["--BUNDEL", "x"], "Did you mean --bundle\\? See"],
    [["--wavelength"], "See"],
    [["python", "train.py", "--steps", "200"], "Write the command to measure after `--`."],
  ])("hints at the option or the -- that was meant by %j", (args, hint) => {
    expect(() => parseArguments(SPEC, args)).toThrowError(
      expect.objectContaining({ code: "OPTION_UNKNOWN", hint: expect.stringMatching(new RegExp(`^${hint}`)) }),
    );
  });

  it("asks for nothing when only help is wanted", () => {
    expect(parseArguments(FILES, ["--help"]).flags.help).toBe(true);
  });

  it("takes any number of files, and an optional last argument", () => {
    expect(parseArguments(FILES, ["a", "b", "c"]).positionals).toEqual(["a", "b", "c"]);
    expect(parseArguments(NO_COMMAND as CommandSpec, ["a"]).positionals).toEqual(["a"]);
  });
});
