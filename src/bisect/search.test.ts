import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Answer, groupsOf, nextQuestion } from "./search.ts";

/** Search with a judge. @returns the changes found, null without an answer, and the number of states that were built */
function search(count: number, judge: (included: ReadonlySet<number>, at: number) => Omit<Answer, "included">) {
  const answers: Answer[] = [];
  for (;;) {
    const next = nextQuestion(count, answers);
    if (next.kind !== "ask")
      return { changes: next.kind === "found" ? next.changes : null, builds: answers.length + 2, answers };
    answers.push({ included: next.included, ...judge(new Set(next.included), answers.length) });
    expect(answers.length).toBeLessThan(200);
  }
}

const exact = (culprit: number) => (included: ReadonlySet<number>) => ({
  outcome: included.has(culprit) ? ("red" as const) : ("green" as const),
});

describe("the search for a change", () => {
  it("finds each of 64 changes with at most 9 states built, and each of 40 with at most 8", () => {
    for (const [count, most] of [
      [64, 9],
      [40, 8],
    ] as const) {
      for (let culprit = 0; culprit < count; culprit += 1) {
        const { changes, builds } = search(count, exact(culprit));
        expect(changes).toEqual([culprit]);
        expect(builds).toBeLessThanOrEqual(most);
      }
    }
  });

  it("needs no question for one change", () => {
    expect(nextQuestion(1, [])).toEqual({ kind: "found", changes: [0], probability: 1 });
  });

  it("finds the change in 9 of 10 searches whose judge misses 2 % and errs in 0.5 %", () => {
    let seed = 1;
    const random = (): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    let right = 0;
    for (let draw = 0; draw < 400; draw += 1) {
      const culprit = Math.floor(random() * 64);
      const { changes } = search(64, (included) => {
        const red = included.has(culprit) ? random() >= 0.02 : random() < 0.005;
        return { outcome: red ? "red" : "green" };
      });
      if (changes?.includes(culprit)) right += 1;
    }
    expect(right).toBeGreaterThanOrEqual(360);
  });

  it("names the changes between which nothing could be built, the true one among them", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 63 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 63 }), { maxLength: 30 }),
        (culprit, broken) => {
          const { changes } = search(64, (included) =>
            broken.includes(included.size) ? { outcome: "skipped" } : exact(culprit)(included),
          );
          const first = changes?.[0] ?? -1;
          expect(changes).toContain(culprit);
          // Whole: every state inside the group was broken, the states at its ends were not.
          expect(changes).toEqual(Array.from({ length: changes?.length ?? 0 }, (_, i) => first + i));
          expect(changes?.slice(1).every((at) => broken.includes(at))).toBe(true);
        },
      ),
    );
  });

  it("leaves a range of 20 broken neighbours within 8 skipped states when the change lies outside", () => {
    const { changes, answers } = search(64, (included) =>
      included.size >= 24 && included.size < 44 ? { outcome: "skipped" } : exact(50)(included),
    );
    expect(changes).toEqual([50]);
    expect(answers.filter(({ outcome }) => outcome === "skipped").length).toBeLessThanOrEqual(8);
  });

  it("moves changes that only work together as one", () => {
    const pair = [3, 30];
    const { changes, answers } = search(40, (included) =>
      pair.filter((at) => included.has(at)).length === 1 ? { outcome: "skipped", together: pair } : exact(30)(included),
    );
    expect(changes).toEqual(pair);
    expect(groupsOf(40, answers)).toContainEqual(pair);
  });

  it("ends without an answer when the answers contradict each other", () => {
    const answers: Answer[] = Array.from({ length: 16 }, (_, at) => ({
      included: [0, 1, 2, 3, 4, 5, 6, 7],
      outcome: at % 2 === 0 ? "red" : "green",
    }));
    expect(nextQuestion(16, answers).kind).toBe("undecided");
  });
});
