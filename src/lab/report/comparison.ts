import type { LabDocument, LabPattern } from "./document.ts";
import { patternRatioText, peakText, ratioText, UNKNOWN } from "./table.ts";

/** What rounds are called in a table: their backends, numbered where two are the same. */
function roundNames(rounds: readonly LabDocument[]): readonly string[] {
  const backends = rounds.map(({ backend }) => backend ?? "unknown");
  return backends.map((backend, index) =>
    backends.filter((other) => other === backend).length === 1
      ? backend
      : `${backend} ${backends.slice(0, index + 1).filter((other) => other === backend).length}`,
  );
}

/** The table across backends, independent of the output format. Its texts are unescaped. */
export interface LabTable {
  readonly columns: readonly (readonly [name: string, align: "l" | "r"])[];
  /** A row per pattern. */
  readonly rows: readonly (readonly string[])[];
}

/** The ratio of peaks where both states ended. A state that ran out of memory has no final peak. */
function wholeRatio(pattern: LabPattern): number | null {
  return pattern.leaky?.out_of_memory ? null : pattern.ratio;
}

/** "mps over cuda: 5.56x". Of more than two rounds, the two that are furthest apart. */
function widestText(cells: readonly (LabPattern | null)[], names: readonly string[]): string {
  const ratios = cells.flatMap((pattern, index) => {
    const ratio = pattern === null ? null : wholeRatio(pattern);
    return ratio ? [{ name: names[index], ratio }] : [];
  });
  const [loudest, ...others] = ratios.sort((a, b) => b.ratio - a.ratio);
  const quietest = others.at(-1);
  return loudest === undefined || quietest === undefined
    ? UNKNOWN
    : `${loudest.name} over ${quietest.name}: ${ratioText(loudest.ratio / quietest.ratio)}`;
}

/**
 * Compare rounds of the lab: leaky, fixed and ratio of each, then the louder one and the factor. A ratio of
 * peaks measures how visible a leak is on one backend.
 */
export function comparisonTable(rounds: readonly LabDocument[]): LabTable {
  const names = roundNames(rounds);
  const columns: LabTable["columns"] = [
    ["pattern", "l"],
    ...names.flatMap((name): LabTable["columns"] => [
      [`${name} leaky`, "r"],
      ["fixed", "r"],
      ["ratio", "r"],
    ]),
    [rounds.length > 2 ? "loudest over quietest" : "louder over quieter", "l"],
  ];
  const patterns = [...new Set(rounds.flatMap((round) => round.patterns.map(({ name }) => name)))];
  const rows = patterns.map((name) => {
    const cells = rounds.map((round) => round.patterns.find((pattern) => pattern.name === name) ?? null);
    return [
      name,
      ...cells.flatMap((pattern) =>
        pattern === null
          ? ["not run", UNKNOWN, UNKNOWN]
          : [peakText(pattern.leaky), peakText(pattern.fixed), patternRatioText(pattern)],
      ),
      widestText(cells, names),
    ];
  });
  return { columns, rows };
}
