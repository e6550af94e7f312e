import { describe, expect, it } from "vitest";
import type { Finding } from "../../analysis/series/document.ts";
import { changedText } from "./wording.ts";

describe("the text about a line and the change", () => {
  it.each<[Finding["evidence"], string | null]>([
    [{}, null],
    [{ changed: null, called_from: null, nearest_change: null }, null],
    [{ changed: "changed" }, "changed in this pull request"],
    [
      { changed: "unchanged", called_from: "trainer.py:88", nearest_change: "model.py:3" },
      "unchanged; called from trainer.py:88, which changed",
    ],
    [
      { changed: "unchanged", called_from: null, nearest_change: "model.py:3" },
      "unchanged; the nearest change is model.py:3",
    ],
    [{ changed: "unchanged", called_from: null, nearest_change: null }, "unchanged"],
  ])("the text about a line and the change for the evidence %j is: %s", (evidence, text) => {
    const finding = { classification: "leak_line", severity: "critical", confidence: 1, evidence } as const;
    const rest = { rank: null, device: null, metric: null, description: "", remediation: [] };
    expect(changedText({ ...finding, ...rest }, "pull-request")).toBe(text);
  });
});
