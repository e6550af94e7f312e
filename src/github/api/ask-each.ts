/** Requests that wait for GitHub's answers at the same time. */
const PARALLEL = 6;

/** Ask about each item, a few at a time. @returns the answers in the order of the items; throws the first failure */
export async function askEach<Item, Answer>(
  items: readonly Item[],
  ask: (item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let at = 0; at < items.length; at += PARALLEL) {
    answers.push(...(await Promise.all(items.slice(at, at + PARALLEL).map(ask))));
  }
  return answers;
}
