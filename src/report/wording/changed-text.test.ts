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
    [
      {
        changed: "unchanged",
        line: "a.py:8",
        nearest_change: "a.py:8",
        removed_lines: 2,
        removed_code: "c.pop(); n()",
      },
      "unchanged; 2 lines below it were removed: c.pop(); n()",
    ],
    [
      { changed: "unchanged", line: "a.py:8", nearest_change: "a.py:5", removed_lines: 1, removed_code: "" },
      "unchanged; 1 line above it was removed",
    ],
    [
      { changed: "unchanged", line: "a.py:80", nearest_change: "a.py:5", removed_lines: 1, removed_code: "x()" },
      "unchanged; 1 line at a.py:5 was removed: x()",
    ],
  ])("the text about a line and the change for the evidence %j is: %s", (evidence, text) => {
    const finding = { classification: "leak_line", severity: "critical", confidence: 1, evidence } as const;
    const rest = { rank: null, device: null, metric: null, description: "", remediation: [] };
    expect(changedText({ ...finding, ...rest }, "pull-request")).toBe(text);
  });
});
