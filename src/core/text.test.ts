import { expect, test } from "vitest";
import { closestWord, countedNotes } from "./text.ts";

test("equal notes are listed once, with their number", () => {
  expect(countedNotes(["slow disk", "no GPU", "slow disk"])).toEqual(["slow disk (2 times)", "no GPU"]);
});

test.each([
  ["rnu", "run"],
  ["RUN", "run"],
  ["baselines", "baseline"],
  ["bseline", "baseline"],
  ["marge", "merge"],
  ["train", undefined],
  ["", undefined],
  ["x", undefined],
  ["b".repeat(100_000), undefined],
])("the word nearest to %.20s is %s", (word, wanted) => {
  expect(closestWord(word, ["run", "baseline", "merge", "lab"])).toBe(wanted);
});
