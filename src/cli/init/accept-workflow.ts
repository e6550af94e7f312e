import type { Choices } from "./choices.ts";

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
