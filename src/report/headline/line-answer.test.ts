import { expect, it } from "vitest";
import { percent } from "./line-answer.ts";

it.each([
  [1, "100 %"],
  [0.996, "99 %"],
  [0.974, "97 %"],
  [0.004, "under 1 %"],
])("a share of %d is printed as %s", (share, text) => {
  expect(percent(share)).toBe(text);
});
