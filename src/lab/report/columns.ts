import { type ComparisonRow, compareRounds } from "./comparison.ts";
import { roundNames, rowSentence } from "./dampening.ts";
import type { LabDocument } from "./document.ts";
import { patternRatioText, peakText, ratioText } from "./table.ts";

/** A column of the table across backends. Its texts are unescaped. */
export interface LabColumn {
  readonly name: string;
  readonly align: "l" | "r";
}

/** The table across backends, independent of the output format. */
export interface LabTable {
  readonly columns: readonly LabColumn[];
  /** A row per pattern: its cells, and a sentence with the quieter backend and the causes. */
  readonly rows: readonly { readonly name: string; readonly cells: readonly string[]; readonly sentence: string }[];
}

/** "mps over cuda: 5.56x". Of more than two rounds, the two that are furthest apart. */
function widestText({ widest }: ComparisonRow, names: readonly string[]): string {
  return widest === null ? "–" : `${names[widest.louder]} over ${names[widest.quieter]}: ${ratioText(widest.factor)}`;
}

/** Leaky, fixed and ratio of each round, then the louder one and the factor. */
export function comparisonTable(rounds: readonly LabDocument[]): LabTable {
  const names = roundNames(rounds);
  const columns: readonly LabColumn[] = [
    { name: "pattern", align: "l" },
    ...names.flatMap((name): readonly LabColumn[] => [
      { name: `${name} leaky`, align: "r" },
      { name: "fixed", align: "r" },
      { name: "ratio", align: "r" },
    ]),
    { name: rounds.length > 2 ? "loudest over quietest" : "louder over quieter", align: "l" },
  ];
  const rows = compareRounds(rounds).map((row) => ({
    name: row.name,
    cells: [
      row.name,
      ...row.cells.flatMap((cell) =>
        cell === null
          ? ["not run", "–", "–"]
          : [peakText(cell.pattern.leaky), peakText(cell.pattern.fixed), patternRatioText(cell.pattern)],
      ),
      widestText(row, names),
    ],
    sentence: rowSentence(row, names),
  }));
  return { columns, rows };
}
