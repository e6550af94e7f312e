import { COMMANDS } from "../../src/cli/commands/commands.ts";

/** A step of the Action from its start to its answer. */
const LIMIT_ACTION = 2.0;
/** What a person reads while a command is written. */
const LIMIT_TEXT = 1.8;

/** One way to start what was built, from spawn to exit. */
export interface Start {
  readonly name: string;
  /** Below dist/. */
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly exitCode: number;
  /** Limit of its ratio to an empty Node process: the end of the 95 % interval. */
  readonly limit: number;
}

// A step with an invalid input reads its inputs, sets every output and reports an error: all that a step starts
// with, without the engine.
const WRONG_INPUT = { INPUT_TOKEN: "t", "INPUT_GATE-ID": "a b" };
const NO_TOKEN = { GITHUB_REPOSITORY: "octo/model" };

const subAction = (name: string): Start => ({
  name: `the ${name} step, to its answer`,
  file: `action/${name}.js`,
  args: [],
  env: NO_TOKEN,
  exitCode: 2,
  limit: LIMIT_ACTION,
});

export const STARTS: readonly Start[] = [
  {
    name: "the gate's step, to its answer",
    file: "action/main.js",
    args: [],
    env: WRONG_INPUT,
    exitCode: 2,
    limit: LIMIT_ACTION,
  },
  ...["report", "merge", "refresh", "accept"].map(subAction),
  ...[["--version"], ["--help"], ...Object.keys(COMMANDS).map((command) => [command, "--help"])].map(
    (args): Start => ({
      name: `stormlog-gate ${args.join(" ")}`,
      file: "cli.js",
      args,
      env: {},
      exitCode: 0,
      limit: LIMIT_TEXT,
    }),
  ),
];
