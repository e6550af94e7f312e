import { expect, test } from "vitest";
import { countedNotes } from "./text.ts";

test("equal notes are listed once, with their number", () => {
  expect(countedNotes(["slow disk", "no GPU", "slow disk"])).toEqual(["slow disk (2 times)", "no GPU"]);
});
