/** One way to start what was built, from spawn to exit. */
export interface Start {
  readonly name: string;
  /** Below dist/. */
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly exitCode: number;
  /** Whether the Action's limit is this one's. */
  readonly limited: boolean;
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
  limited: true,
});

export const STARTS: readonly Start[] = [
  {
    name: "the gate's step, to its answer",
    file: "action/main.js",
    args: [],
    env: WRONG_INPUT,
    exitCode: 2,
    limited: true,
  },
  { name: "the gate's post step", file: "action/post.js", args: [], env: {}, exitCode: 0, limited: true },
  ...["report", "merge", "refresh", "accept"].map(subAction),
  { name: "stormlog-gate --version", file: "cli.js", args: ["--version"], env: {}, exitCode: 0, limited: false },
  { name: "stormlog-gate --help", file: "cli.js", args: ["--help"], env: {}, exitCode: 0, limited: false },
  {
    name: "stormlog-gate run --help",
    file: "cli.js",
    args: ["run", "--help"],
    env: {},
    exitCode: 0,
    limited: false,
  },
];
