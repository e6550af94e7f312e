/*
 * Noisy binary search for the one change of an ordered list that turned a verdict red. After each answer the posterior
 * of every change is computed with known error rates, and the next question divides the remaining probability in halves
 * (M. Horstein, Sequential transmission using noiseless feedback, IEEE Trans. Inf. Theory 9(3), 1963; discrete form:
 * Burnashev and Zigangirov, 1974).
 */

/** One question that was answered: the state with exactly these changes, by their indices. */
export interface Answer {
  readonly included: readonly number[];
  readonly outcome: "red" | "green" | "skipped";
  /** Of a skipped state: changes that only work together, where that is known. */
  readonly together?: readonly number[];
}

/** Changes that cannot be separated, because no state between them could be judged. */
type Group = readonly number[];

export type Next =
  | { readonly kind: "ask"; readonly included: readonly number[] }
  | { readonly kind: "found"; readonly changes: Group; readonly probability: number }
  | { readonly kind: "undecided"; readonly changes: Group };

/** Upper bounds of the gate's errors after its confirmation: a red state without the change, a green one with it. */
const FALSE_RED = 0.005;
const MISSED = 0.02;
/** Probability at which a group is the answer. */
const SURE = 0.85;
/** Share of the best group's probability from which another is as good: between both errors and one. */
const LIKELY = 0.1;
/** Questions beyond those of a search without errors, after which the answers contradict each other too much. */
const EXTRA_QUESTIONS = 8;

/** Probability of each change to be the one, all equal before the first answer. */
function posterior(count: number, answers: readonly Answer[]): readonly number[] {
  const weights = Array.from({ length: count }, () => 1);
  for (const { included, outcome } of answers) {
    if (outcome === "skipped") continue;
    const inside = new Set(included);
    for (let at = 0; at < count; at += 1) {
      const red = inside.has(at) ? 1 - MISSED : FALSE_RED;
      weights[at] = (weights[at] ?? 0) * (outcome === "red" ? red : 1 - red);
    }
  }
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** The changes in groups: each skipped state joins what it would have separated. */
export function groupsOf(count: number, answers: readonly Answer[]): readonly Group[] {
  let groups: readonly Group[] = Array.from({ length: count }, (_, at) => [at]);
  for (const { included, outcome, together } of answers) {
    if (outcome !== "skipped") continue;
    const inside = new Set(included);
    const splits = together?.some((at) => inside.has(at)) && together.some((at) => !inside.has(at));
    const last = groups.findLast((group) => group.some((at) => inside.has(at)));
    const next = groups.find((group) => group.some((at) => !inside.has(at)));
    const joined = new Set(splits ? together : [...(last ?? []), ...(next ?? [])]);
    groups = join(groups, joined);
  }
  return groups;
}

/** All groups that hold one of these changes as one, where the first of them was. */
function join(groups: readonly Group[], changes: ReadonlySet<number>): readonly Group[] {
  const touched = groups.filter((group) => group.some((at) => changes.has(at)));
  const whole = touched.flat().sort((a, b) => a - b);
  return groups.flatMap((group) => (group === touched[0] ? [whole] : touched.includes(group) ? [] : [group]));
}

/** The radical inverse of `n` in base 2 (van der Corput): 1/2, 1/4, 3/4, 1/8, … */
function radicalInverse(n: number): number {
  let [value, part] = [0, 0.5];
  for (let rest = n; rest > 0; rest = Math.floor(rest / 2), part /= 2) value += (rest % 2) * part;
  return value;
}

/**
 * The next question, or the end. The state without any change is known as green and the state with all as red.
 * After skipped states the question moves away from the middle, because neighbours tend to fail together.
 */
export function nextQuestion(count: number, answers: readonly Answer[]): Next {
  const chances = posterior(count, answers);
  const groups = groupsOf(count, answers);
  const massOf = (group: Group): number => group.reduce((sum, at) => sum + (chances[at] ?? 0), 0);
  if (count > 1 && groups.length === 1 && !answers.some(({ together }) => together !== undefined)) {
    return { kind: "undecided", changes: groups[0] ?? [] };
  }
  const best = groups.reduce((a, b) => (massOf(b) > massOf(a) ? b : a));
  if (massOf(best) >= SURE) return { kind: "found", changes: best, probability: massOf(best) };
  const judged = answers.filter(({ outcome }) => outcome !== "skipped").length;
  if (judged >= Math.ceil(Math.log2(count)) + EXTRA_QUESTIONS) {
    return { kind: "undecided", changes: groups.filter((group) => massOf(group) >= 1 - SURE).flat() };
  }
  // Errors excluded, the question halves what no answer speaks against. What remains of the others would move it.
  const likely = groups.filter((group) => massOf(group) >= LIKELY * massOf(best));
  const whole = likely.length > 1 ? likely : groups;
  const total = whole.reduce((sum, group) => sum + massOf(group), 0);
  const skipped = answers.length - 1 - answers.findLastIndex(({ outcome }) => outcome !== "skipped");
  const target = radicalInverse(skipped + 1);
  let mass = 0;
  let nearest = { distance: Number.POSITIVE_INFINITY, length: 0 };
  groups.slice(0, -1).forEach((group, at) => {
    if (whole.includes(group)) mass += massOf(group) / total;
    const distance = Math.abs(mass - target);
    if (distance < nearest.distance - 1e-12) nearest = { distance, length: at + 1 };
  });
  return { kind: "ask", included: groups.slice(0, nearest.length).flat() };
}
