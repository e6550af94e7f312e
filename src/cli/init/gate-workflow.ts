import type { Choices } from "./choices.ts";
import { CHECKOUT } from "./pins.ts";
import { inputs, quoted } from "./yaml.ts";

/** The name by which the workflow for forks finds this one. */
export const GATE_WORKFLOW_NAME = "Memory gate";

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
