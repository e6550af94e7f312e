import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../report/documents/model.ts";
import {
  afterSession,
  currentMode,
  FIRST_NIGHT,
  type Promotion,
  type PromotionPolicy,
  promotionText,
} from "./promotion.ts";

const ASKED: PromotionPolicy = { mode: "advisory", promoteAfter: 20 };

function nights(words: readonly Verdict[], policy = ASKED, from: Promotion = FIRST_NIGHT): Promotion {
  return words.reduce((state, word, at) => afterSession(state, word, policy, `2026-01-${at + 1}`), from);
}

const clean = (count: number): Verdict[] => Array.from({ length: count }, () => "pass");

describe("promotion from advisory to blocking", () => {
  it("takes as many clean nights in a row as were asked for, and not one less", () => {
    expect(nights(clean(19))).toMatchObject({ mode: "advisory", clean_nights: 19, promoted_iso: null });
    expect(nights(clean(20))).toMatchObject({ mode: "blocking", clean_nights: 20, promoted_iso: "2026-01-20" });
  });

  it("begins anew after a failed night", () => {
    expect(nights([...clean(19), "fail", ...clean(19)])).toMatchObject({ mode: "advisory", clean_nights: 19 });
    expect(nights([...clean(19), "fail", ...clean(20)]).mode).toBe("blocking");
  });

  it("neither counts nor resets by a night without a verdict", () => {
    expect(nights([...clean(10), "unjudged", "error", ...clean(9)])).toMatchObject({
      mode: "advisory",
      clean_nights: 19,
    });
  });

  it("is not taken back by a failed night: that is what blocking is for", () => {
    expect(nights([...clean(20), "fail"])).toMatchObject({ mode: "blocking", promoted_iso: "2026-01-20" });
  });

  it("is taken back when the workflow no longer asks for it", () => {
    const promoted = nights(clean(20));
    expect(afterSession(promoted, "pass", { mode: "advisory", promoteAfter: null }, "x").mode).toBe("advisory");
    expect(currentMode(promoted, { mode: "advisory", promoteAfter: null })).toBe("advisory");
  });

  it("never happens to an advisory gate that was not asked to", () => {
    expect(nights(clean(200), { mode: "advisory", promoteAfter: null }).mode).toBe("advisory");
  });

  it("judges the night itself by the mode before it", () => {
    expect(currentMode(nights(clean(19)), ASKED)).toBe("advisory");
    expect(currentMode(nights(clean(20)), ASKED)).toBe("blocking");
    expect(currentMode(FIRST_NIGHT, { mode: "blocking", promoteAfter: null })).toBe("blocking");
  });

  it("whatever the nights were, blocks only once as many clean ones stood in a row without a failed one", () => {
    const word = fc.constantFrom<Verdict>("pass", "warn", "fail", "unjudged", "error");
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 120 }),
        fc.integer({ min: 1, max: 20 }),
        (words, promoteAfter) => {
          let row = 0;
          let expected = false;
          for (const one of words) {
            row = one === "fail" ? 0 : one === "pass" || one === "warn" ? row + 1 : row;
            expected ||= row >= promoteAfter;
          }
          expect(nights(words, { mode: "advisory", promoteAfter }).mode === "blocking").toBe(expected);
        },
      ),
    );
  });

  it("is told in one sentence", () => {
    expect(promotionText(nights(clean(3)), ASKED)).toBe(
      "The gate is advisory: 3 clean nights in a row, it blocks after 20.",
    );
    expect(promotionText(nights(clean(20)), ASKED)).toContain("blocking since 2026-01-20");
  });
});
