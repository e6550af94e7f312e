import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { PROBE, scaleDocument } from "../testing/scale.ts";
import { type ScaleAnswer, ScaleDocumentSchema } from "./scale-document.ts";
import { answerText, formatSize, probeText } from "./scale-text.ts";

const KNOWN = { excess_bytes: 2.5 * 1024 ** 2, mde_bytes: 2 * 1024 ** 2 };

function answered(answer: ScaleAnswer): string {
  return answerText(scaleDocument({ answer }));
}

describe("the answer of a search", () => {
  it("answerText names both sides of the boundary and the excess", () => {
    expect(answerText(scaleDocument())).toBe(
      "a_pattern becomes visible at 26 steps, with 2.50 MiB more than the fixed state has, and is silent at 21 steps.",
    );
  });

  it("answerText describes a leak that is visible at every size, at none, or that could not be searched", () => {
    expect(answered({ kind: "always", at: 4, ...KNOWN })).toContain("visible at 4 steps already, with 2.50 MiB");
    const never = answered({ kind: "never", to: 10_240, excess_bytes: 1000, mde_bytes: 4000, extrapolated: 41_234 });
    expect(never).toContain("silent up to 10,240 steps: 1000 B has accumulated there, 3.91 KiB can be seen");
    expect(answered({ kind: "never", to: 9, excess_bytes: -5, mde_bytes: 4, extrapolated: null })).toContain(
      "nothing has accumulated there, 4 B can be seen.",
    );
    expect(answered({ kind: "broken", reason: "interrupted", at: 40, below: 20, bundle: null })).toContain(
      "interrupted; so far it is silent at 20 steps and visible at 40 steps.",
    );
    expect(answered({ kind: "broken", reason: "no torch", at: null, below: null, bundle: null })).toContain(
      "answer: no torch.",
    );
    expect(answered({ kind: "broken", reason: "it failed", at: 40, below: null, bundle: "probes/17" })).toContain(
      "it failed; its bundles are in probes/17; so far it is visible at 40 steps.",
    );
  });

  it("answerText does not describe a size with a warning as silent", () => {
    const probes = scaleDocument().probes.map((probe) =>
      probe.value === 21 ? { ...probe, leaky: "warn" as const } : probe,
    );
    const words = (answer: ScaleAnswer): string => answerText(scaleDocument({ probes, answer }));
    expect(answerText(scaleDocument({ probes }))).toContain("and is warned of, but not red, at 21 steps.");
    expect(words({ kind: "never", to: 21, ...KNOWN, extrapolated: null })).toContain(
      "a_pattern is warned of, but not red, at 21 steps: 2.50 MiB",
    );
    expect(words({ kind: "broken", reason: "x", at: 40, below: 21, bundle: null })).toContain(
      "so far it is warned of, but not red, at 21 steps and visible at 40 steps.",
    );
  });

  it("sizes are counted in steps", () => {
    expect(formatSize(1)).toBe("1 step");
    expect(formatSize(1234567)).toBe("1,234,567 steps");
  });
});

describe("a judged size", () => {
  it("probeText reports whether the leak was seen, its excess, and the cost", () => {
    expect(probeText(PROBE)).toBe(
      "26 steps: visible; 2.50 MiB more than the fixed state (peak of allocated), 2.00 MiB can be seen; 4 runs, 12.3 s",
    );
    const silent = { ...PROBE, visible: false, leaky: "pass", fixed: null, excess_bytes: -3, runs: 1 } as const;
    expect(probeText(silent)).toContain("silent; no more than the fixed state");
    expect(probeText(silent)).toContain("; 1 run, ");
    expect(probeText({ ...silent, leaky: "warn" })).toContain("warned of");
    expect(probeText({ ...PROBE, visible: false, fixed: "unjudged" })).toContain("not judged");
    expect(probeText({ ...PROBE, visible: false, leaky: "unjudged", fixed: null })).toContain("not judged");
    expect(probeText({ ...PROBE, check: null, excess_bytes: null })).toContain("no check measured the difference");
  });
});

describe("the document of a search", () => {
  it("accepts each kind of answer, and none with a key of another", () => {
    const answers: readonly ScaleAnswer[] = [
      { kind: "visible", at: 2, below: 1, ...KNOWN },
      { kind: "always", at: 1, ...KNOWN },
      { kind: "never", to: 1, ...KNOWN, extrapolated: null },
      { kind: "broken", reason: "x", at: null, below: null, bundle: null },
    ];
    for (const answer of answers)
      expect(v.is(ScaleDocumentSchema, JSON.parse(JSON.stringify(scaleDocument({ answer }))))).toBe(true);
    for (const answer of [{ kind: "visible", at: 2 }, { kind: "perhaps" }, { kind: "always", at: 0.5, ...KNOWN }])
      expect(v.is(ScaleDocumentSchema, { ...scaleDocument(), answer })).toBe(false);
  });
});
