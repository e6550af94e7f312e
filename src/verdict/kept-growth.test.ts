import { describe, expect, it } from "vitest";
import type { MeasuredRun, MeasuredSeries } from "../analysis/measurements.ts";
import type { DriftClass } from "../analysis/series/document.ts";
import { judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import { measured } from "./testing/measurements.ts";

const MIB = 2 ** 20;

interface Heap {
  readonly inUse?: DriftClass;
  /** MiB that the heap gained of the 77 of the host. */
  readonly gained?: number;
  readonly isKnown?: boolean;
  /** The same of the heaps of all processes together; absent = there is one process. */
  readonly family?: { readonly inUse: DriftClass; readonly gained: number };
}

/** A run whose host memory grows like a leak, with the counters of its C heap. */
function run({ inUse = "plateau", gained = 75, isKnown = true, family }: Heap = {}): MeasuredRun {
  const of = (metric: MeasuredSeries["metric"], growth: number, klass: DriftClass): MeasuredSeries => ({
    ...{ rank: 0, device: "host", metric, peak_bytes: 85 * MIB, growth_bytes: growth * MIB, class: klass },
  });
  const heap = [of("allocated", 70, inUse), of("reserved", gained, "rising")];
  const heaps = family && [of("allocated", 70, family.inUse), of("reserved", family.gained, "rising")];
  const series = [...(isKnown ? heap : []), of("host", 77, "leak")];
  return { session: "now", commit: null, series, ...(heaps && { heaps }) };
}

function host(...runs: readonly MeasuredRun[]) {
  const alone = { baseline: null, baselineWanted: false, anchor: null, baseRunsPossible: false };
  const { checks } = judge({ candidate: measured(runs), ...alone, policy: DEFAULT_POLICY });
  return checks.find(({ metric }) => metric === "host");
}

describe("growth of host memory that the C heap keeps", () => {
  it("warns where what is in use does not go on growing, and asks for no further run", () => {
    const check = host(run());
    expect(check).toMatchObject({ verdict: "warn", kept_bytes: 75 * MIB, needs_more_runs: 0, confirmed: false });
    expect(check?.reason).toContain("the C heap keeps it (+75.00 MiB)");
  });

  it("warns where the counters were read in the confirming run alone", () => {
    expect(host(run({ isKnown: false }), run())).toMatchObject({ verdict: "warn", kept_bytes: 75 * MIB });
  });

  it("warns where the heaps of several processes keep it together", () => {
    const together = run({ gained: 40, family: { inUse: "plateau", gained: 75 } });
    expect(host(together, together)).toMatchObject({ verdict: "warn", kept_bytes: 75 * MIB });
  });

  it.each<[string, readonly Heap[]]>([
    ["what another process uses is a leak", [1, 2].map(() => ({ family: { inUse: "leak", gained: 75 } as const }))],
    ["more grows than all heaps", [1, 2].map(() => ({ family: { inUse: "plateau", gained: 40 } as const }))],
    ["what is in use is a leak", [{ inUse: "leak" }, { inUse: "leak" }]],
    ["what is in use has teeth that are higher at the end", [{ inUse: "sawtooth" }, { inUse: "sawtooth" }]],
    ["what is in use rises", [{ inUse: "rising" }, { inUse: "rising" }]],
    ["the class of what is in use is not known", [{ inUse: "insufficient" }, { inUse: "insufficient" }]],
    ["more grows than the heap", [{ gained: 40 }, { gained: 40 }]],
    ["no counter of the heap was read", [{ isKnown: false }, { isKnown: false }]],
    ["one of the runs shows it alone", [{}, { inUse: "rising" }]],
  ])("fails where %s", (_, heaps) => {
    expect(host(...heaps.map(run))).toMatchObject({ verdict: "fail", confirmed: true });
  });
});
