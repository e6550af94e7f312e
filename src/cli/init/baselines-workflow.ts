import type { Choices } from "./choices.ts";
import { CHECKOUT } from "./pins.ts";
import { inputs, literalPattern, quoted } from "./yaml.ts";

/** Every night one more session of the main branch: one job runs the program and only reads, another stores. */
export function baselinesWorkflow(choices: Choices): string {
  const config = choices.directory === "" ? "stormlog-gate.yml" : `${choices.directory}/stormlog-gate.yml`;
  const where = choices.directory === "" ? null : quoted(choices.directory);
  const withAccept = inputs(10, { "working-directory": where, accept: `\${{ inputs.accept }}` });
  return `# Memory baselines: measures the main branch every night and adds the session to the hidden ref that the gate reads.
name: Memory baselines

on:
  schedule:
    - cron: "17 3 * * *"               # UTC; not on the hour, when many start
  push:
    branches: [${literalPattern(choices.defaultBranch)}]
    # A new scenario need not wait for the nightly run.
    paths: [${literalPattern(config)}]
  workflow_dispatch:                   # for the first baseline, and to accept a new level
    inputs:
      accept:
        description: Reason for accepting what is measured now as the new level. Empty = it is judged.
        type: string

permissions: {}

# One session at a time; one that has begun is kept.
concurrency:
  group: memory-baselines
  cancel-in-progress: false

jobs:
  # Runs the program, so its token can only read.
  measure:
    name: Measure baselines
    runs-on: ${choices.runsOn}
    timeout-minutes: 125
    permissions:
      contents: read
    steps:
      - uses: ${CHECKOUT}
        with:
          fetch-depth: 0
          persist-credentials: false
      # Install what your command needs here, as in memory-gate.yml: another environment is another baseline.
      - uses: stormlog/gate/refresh@${choices.pin}
        with:
${withAccept}          stage: measure
          timeout-minutes: 120

  # Checks and stores what was measured, and runs nothing of the program, so its token may write.
  store:
    name: Store
    needs: measure
    runs-on: ubuntu-24.04
    timeout-minutes: 15
    permissions:
      contents: write                  # the baselines, on a hidden ref
      issues: write                    # one issue when the main branch grows
      pull-requests: write             # one pull request when the release anchor is exceeded
    steps:
      - uses: ${CHECKOUT}
        with:
          persist-credentials: false
      - uses: stormlog/gate/refresh@${choices.pin}
        with:
${withAccept}          stage: write
          timeout-minutes: 10
`;
}
