import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { GateError } from "../core/errors.ts";
import { ExitCode } from "../core/exit-codes.ts";
import type { CommandSpec } from "./command.ts";

const CONFIG = `# Stormlog Gate: what is measured and how it is judged (schema stormlog.config/1).
schema: stormlog.config/1

scenarios:
  - name: train                      # the baseline is stored under this name
    run: python train.py --steps 200 # a string runs in \`sh -c\`; a list ["python", "train.py"] runs without a shell
    # cwd: .
    # env: { CUDA_VISIBLE_DEVICES: "0" }
    # timeout: 900                   # seconds for one run
    # horizon: 1000000               # steps (or "72h") of a production run: growth is judged by what it becomes there
    # budget: { allocated: 12GiB }   # absolute limits on peaks: allocated, reserved, used or host
    # repeats: auto                  # one run, more only to confirm a breach

baseline: file:baselines             # reviewed in pull requests; \`stormlog-gate baseline refresh\` writes it

# policy:
#   unjudged: warn                   # when there is nothing comparable: fail, warn or pass (it never reads as a pass)
#   base-run: auto                   # run the base commit here before red: auto, off, or a command
#   max-runs: 10
#   max-minutes: 30
`;

const WORKFLOW = `# Memory gate: measures every pull request against the stored baselines.
name: memory gate
on:
  pull_request:
permissions: {}
jobs:
  gate:
    runs-on: ubuntu-latest           # or the label of your GPU runner
    permissions:
      contents: read
      pull-requests: write           # for the one comment; without it the verdict is in the job summary
    steps:
      - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2
        with:
          fetch-depth: 0             # the merge base is run again before a red verdict
          persist-credentials: false
      - uses: stormlog/gate@v1
        with:
          config: stormlog-gate.yml
`;

const FILES: Readonly<Record<string, string>> = {
  "stormlog-gate.yml": CONFIG,
  ".github/workflows/memory-gate.yml": WORKFLOW,
};

export const init: CommandSpec = {
  name: "init",
  description: "Write a commented stormlog-gate.yml and the workflow",
  positionals: [],
  options: { force: { type: "boolean", description: "Overwrite files that exist" } },
  run: async ({ flags, console }) => {
    const written: string[] = [];
    const kept: string[] = [];
    for (const [file, text] of Object.entries(FILES)) {
      if (existsSync(file) && flags.force !== true) {
        kept.push(file);
        continue;
      }
      try {
        mkdirSync(path.dirname(file), { recursive: true });
        writeFileSync(file, text);
      } catch (error) {
        throw new GateError("WRITE_FAILED", `${file} cannot be written: ${(error as Error).message}`, {
          kind: "error",
          where: file,
        });
      }
      written.push(file);
    }
    for (const file of written) console.print(`wrote  ${file}`);
    for (const file of kept) console.print(`kept   ${file} (it exists; --force overwrites)`);
    console.print(
      "\nNext: put your command into stormlog-gate.yml, then `stormlog-gate baseline refresh` and commit baselines/.",
    );
    console.document({ written, kept });
    return ExitCode.pass;
  },
};
