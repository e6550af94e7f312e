import { readFileSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../../core/package-root.ts";
import type { Choices } from "./choices.ts";

/** `actions/checkout` as the written workflows use it: a commit cannot be moved, a tag can. */
export const CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1";

/** The major version's tag, for a package that does not know its own commit. */
const MOVING_TAG = "v1 # zizmor: ignore[unpinned-uses] replace v1 with the commit of a release to pin it";

/** Version after `stormlog/gate@`: the released commit of `dist/release.json`, or the moving tag in other builds. */
export function ownPin(root: string = packageRoot()): string {
  let release: unknown;
  try {
    release = JSON.parse(readFileSync(path.join(root, "dist", "release.json"), "utf8"));
  } catch {
    return MOVING_TAG;
  }
  if (typeof release !== "object" || release === null) return MOVING_TAG;
  const { commit, version } = release as Readonly<Record<string, unknown>>;
  if (typeof commit !== "string" || !/^[0-9a-f]{40}$/.test(commit)) return MOVING_TAG;
  return typeof version === "string" && /^\d+\.\d+\.\d+$/.test(version) ? `${commit} # v${version}` : commit;
}

/** A double-quoted YAML string; JSON's is one. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

/** The name of a branch or the path of a file where a workflow expects a pattern. */
function literalPattern(name: string): string {
  return quoted(name.replace(/[*?+[\]!]/g, "\\$&"));
}

/** Lines of `with:` at an indentation, without those that have no value. */
function inputs(indent: number, values: Readonly<Record<string, string | null>>): string {
  const lines = Object.entries(values).flatMap(([name, value]) =>
    value === null ? [] : [`${" ".repeat(indent)}${name}: ${value}\n`],
  );
  return lines.join("");
}

/** The name by which the workflow for forks finds this one. */
const GATE_WORKFLOW_NAME = "Memory gate";

const GPU_NOTE = `    # One job per GPU at a time: a neighbour on the same card is measured too. A runner takes one job at a time, so one
    # runner per card is enough; docs/gpu-runners.md has containers and Kubernetes.
`;

const PUBLIC_NOTE = `    # Anyone can open a pull request here, and its code runs on this machine: let pull requests of outside contributors
    # wait for approval (Settings, Actions), and use runners that are thrown away after one job.
`;

/** Pull requests: one job runs the change and cannot write anything, one job writes and runs nothing of the change. */
export function gateWorkflow(choices: Choices): string {
  const notes = choices.ownRunner ? GPU_NOTE + (choices.visibility === "private" ? "" : PUBLIC_NOTE) : "";
  const where = choices.directory === "" ? null : quoted(choices.directory);
  return `# Memory gate: measures every pull request against the stored baselines and keeps one comment on it.
name: ${GATE_WORKFLOW_NAME}

on:
  pull_request:
  # merge_group:                       # add it when this check is required and the repository has a merge queue

permissions: {}

concurrency:
  group: memory-gate-\${{ github.ref }}
  cancel-in-progress: true

jobs:
  # Runs the code of the change, so its token can only read.
  gate:
    name: Measure
${notes}    runs-on: ${choices.runsOn}
    timeout-minutes: 65
    permissions:
      contents: read
      pull-requests: read            # what people accepted
    steps:
      - uses: ${CHECKOUT}
        with:
          fetch-depth: 0               # the merge base is run again before a red verdict
          persist-credentials: false
      # Install what your command needs here. Give this job no secrets.
      - uses: stormlog/gate@${choices.pin}
        with:
${inputs(10, { "working-directory": where })}          comment: never               # the job below writes it
          timeout-minutes: 60          # below the job's own limit, so that a timeout leaves evidence

  # Runs nothing of the change, so its token may write. Pull requests of forks are reported by memory-report.yml.
  report:
    name: Report
    needs: gate
    if: \${{ !cancelled() && github.event.pull_request.head.repo.full_name == github.repository }}
    runs-on: ubuntu-24.04
    timeout-minutes: 10
    permissions:
      contents: write                  # the timeline's picture, on a hidden ref
      pull-requests: write             # the comment
    steps:
      - uses: stormlog/gate/report@${choices.pin}
${choices.visibility === "private" ? "        with:\n          image: ref                   # a private repository shows its own pictures to those who may see it\n" : ""}
# With a matrix, give every leg of \`gate\` the input \`matrix: \${{ toJSON(matrix) }}\`, and replace \`report\` by
# one job of them all, which is then the check to require:
#
#   merge:
#     needs: gate
#     if: always()                     # a required check that is skipped counts as passed
#     runs-on: ubuntu-24.04
#     permissions:
#       contents: write
#       pull-requests: write
#     steps:
#       - uses: stormlog/gate/merge@${choices.pin}
#         with:
#           expect: 4                  # legs; a missing one is never a pass
#           result: \${{ needs.gate.result }}
`;
}

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

/** Pull requests of forks: their own token cannot write, so the comment is written by a run of the main branch. */
export function forkReportWorkflow(choices: Choices): string {
  return `# Memory report: the comment on pull requests of forks, whose own run may only read. It is safe to run with a writing token
# because it checks nothing out and runs nothing of the fork: it reads the numbers of that run, checks them, and renders
# everything itself.
name: Memory report

on:
  workflow_run: # zizmor: ignore[dangerous-triggers] no code, text or picture of the other run is used
    workflows: [${GATE_WORKFLOW_NAME}]
    types: [completed]

permissions: {}

concurrency:
  group: memory-report-\${{ github.event.workflow_run.head_repository.full_name }}-\${{ github.event.workflow_run.head_branch }}
  cancel-in-progress: true

jobs:
  report:
    name: Report
    if: >-
      github.event.workflow_run.event == 'pull_request' &&
      github.event.workflow_run.head_repository.full_name != github.repository
    runs-on: ubuntu-24.04
    timeout-minutes: 10
    permissions:
      actions: read                    # the other run's artifacts
      contents: write                  # the timeline's picture, on a hidden ref
      pull-requests: write             # the comment
    steps:
      - uses: stormlog/gate/report@${choices.pin}
`;
}

/** `/stormlog accept …` in a comment: someone with write permission accepts a difference, and the check runs again. */
export function acceptWorkflow(choices: Choices): string {
  return `# Memory accept: a comment \`/stormlog accept <difference> <reason>\` by someone with write permission accepts what the gate found,
# and the failed check is run again. It runs no code of the change.
name: Memory accept

on:
  issue_comment: # zizmor: ignore[dangerous-triggers] the comment is read as a command and proven by the API; nothing is checked out
    types: [created]

permissions: {}

# One group per comment: a run that waits in a group is dropped when another arrives.
concurrency:
  group: memory-accept-\${{ github.event.comment.id }}
  cancel-in-progress: false

jobs:
  accept:
    name: Accept
    if: github.event.issue.pull_request && contains(github.event.comment.body, '/stormlog accept')
    runs-on: ubuntu-24.04
    timeout-minutes: 10
    permissions:
      actions: write                   # runs the failed jobs again
      contents: read
      pull-requests: write             # the reaction, or one short reply
    steps:
      - uses: stormlog/gate/accept@${choices.pin}
`;
}
