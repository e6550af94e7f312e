import type { Choices } from "./choices.ts";

/** What a person has to know after the files are there. */
export function nextSteps(facts: {
  readonly choices: Choices;
  readonly inRepository: boolean;
  /** Workflows, not of ours, that use the gate. */
  readonly others: readonly string[];
  /** Kept workflows of ours that measure another directory. */
  readonly elsewhere: readonly string[];
  /** Why git does not see a repository, where there may be one; null otherwise. */
  readonly refused: string | null;
  /** The words that start this program. */
  readonly program: string;
}): readonly string[] {
  const { choices, inRepository, others, elsewhere, refused, program } = facts;
  const steps = [
    `Put your command into stormlog-gate.yml and try it: ${program} run`,
    `Add what the scenarios need (Python, data) to memory-gate.yml and memory-baselines.yml where they are marked.`,
    `Commit and merge into ${choices.defaultBranch}: schedules, reports on forks and comments run from there only.`,
    `Protect ${choices.defaultBranch} and start "Memory baselines" once by hand (Actions, Run workflow): the first five runs.`,
  ];
  const notes: string[] = [];
  if (!inRepository) {
    notes.push(
      `${refused === null ? "This is not a git repository" : `git finds no repository here (${refused})`}: put .github/workflows at the top of the one this directory goes into.`,
    );
  }
  if (elsewhere.length > 0) {
    const these = elsewhere.join(" and ");
    notes.push(
      `${these} measures another directory and not this one: add a step with this working-directory and a gate-id of its own, or put all scenarios into one configuration (examples/monorepo).`,
    );
  }
  if (others.length > 0) {
    notes.push(`${others.join(", ")} uses the gate already; keep one of the two, or give them different gate-ids.`);
  }
  if (!choices.ownRunner) {
    notes.push("The job measures on a machine without a GPU. --runner LABELS names yours.");
  }
  if (choices.ownRunner && choices.visibility !== "private") {
    notes.push(
      "If the repository is public, code of unknown people runs on your runner: require approval for outside contributors first.",
    );
  }
  if (choices.visibility === "unknown") {
    notes.push("--visibility private makes the comment's picture one that only your readers can open.");
  }
  return [
    "",
    "Next:",
    ...steps.map((step, index) => `  ${index + 1}. ${step}`),
    ...(notes.length === 0 ? [] : ["", ...notes.map((note) => `note: ${note}`)]),
  ];
}
