import type { Choices } from "./choices.ts";
import { GATE_WORKFLOW_NAME } from "./gate-workflow.ts";

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
