import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../report/model/gate-report.ts";
import {
  afterSession,
  currentMode,
  FIRST_NIGHT,
  type Promotion,
  type PromotionPolicy,
  promotionText,
} from "./state.ts";

const ASKED: PromotionPolicy = { mode: "advisory", promoteAfter: 20 };

function nights(verdicts: readonly Verdict[], policy = ASKED, from: Promotion = FIRST_NIGHT): Promotion {
  return verdicts.reduce((state, verdict, at) => afterSession(state, verdict, policy, `2026-01-${at + 1}`), from);
}

const clean = (count: number): Verdict[] => Array.from({ length: count }, () => "pass");

describe("promotion from advisory to blocking", () => {
  it("promotion takes exactly the configured number of clean nightly runs in a row", () => {
    expect(nights(clean(19))).toMatchObject({ mode: "advisory", clean_nights: 19, promoted_iso: null });
    expect(nights(clean(20))).toMatchObject({ mode: "blocking", clean_nights: 20, promoted_iso: "2026-01-20" });
  });

  it("promotion starts again after a failed nightly run", () => {
    expect(nights([...clean(19), "fail", ...clean(19)])).toMatchObject({ mode: "advisory", clean_nights: 19 });
    expect(nights([...clean(19), "fail", ...clean(20)]).mode).toBe("blocking");
  });

  it("promotion is not affected by a nightly run without a verdict", () => {
    expect(nights([...clean(10), "unjudged", "error", ...clean(9)])).toMatchObject({
      mode: "advisory",
      clean_nights: 19,
    });
  });

  it("a promotion stays after a failed nightly run", () => {
    expect(nights([...clean(20), "fail"])).toMatchObject({ mode: "blocking", promoted_iso: "2026-01-20" });
  });

  it("a promotion is revoked when the workflow no longer asks for it", () => {
    const promoted = nights(clean(20));
    expect(afterSession(promoted, "pass", { mode: "advisory", promoteAfter: null }, "x").mode).toBe("advisory");
    expect(currentMode(promoted, { mode: "advisory", promoteAfter: null })).toBe("advisory");
  });

  it("never happens without promote-after", () => {
    expect(nights(clean(200), { mode: "advisory", promoteAfter: null }).mode).toBe("advisory");
  });

  it("promotion applies to the next nightly run, not to the one that reached it", () => {
    expect(currentMode(nights(clean(19)), ASKED)).toBe("advisory");
    expect(currentMode(nights(clean(20)), ASKED)).toBe("blocking");
    expect(currentMode(FIRST_NIGHT, { mode: "blocking", promoteAfter: null })).toBe("blocking");
  });

  it("promotion blocks only after that many clean nightly runs without a failed one between them", () => {
    const verdict = fc.constantFrom<Verdict>("pass", "warn", "fail", "unjudged", "error");
    fc.assert(
      fc.property(
        fc.array(verdict, { minLength: 1, maxLength: 120 }),
        fc.integer({ min: 1, max: 20 }),
        (verdicts, promoteAfter) => {
          let row = 0;
          let expected = false;
          for (const one of verdicts) {
            row = one === "fail" ? 0 : one === "pass" || one === "warn" ? row + 1 : row;
            expected ||= row >= promoteAfter;
          }
          expect(nights(verdicts, { mode: "advisory", promoteAfter }).mode === "blocking").toBe(expected);
        },
      ),
    );
  });

  it("promotionText reports the mode in one sentence", () => {
    expect(promotionText(nights(clean(3)), ASKED)).toBe(
      "The gate is advisory: 3 clean nights in a row, it blocks after 20.",
    );
    expect(promotionText(nights(clean(20)), ASKED)).toContain("blocking since 2026-01-20");
  });
});
