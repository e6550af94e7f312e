import { type ComparisonRow, compareRounds } from "./comparison.ts";
import { placeNames, rowSentence } from "./dampening.ts";
import type { LabDocument } from "./document.ts";
import { patternRatioText, peakText, ratioText } from "./table.ts";

/** A column of the table across backends; its texts are unescaped. */
export interface LabColumn {
  readonly name: string;
  readonly align: "l" | "r";
}

/** The table across backends, for whoever prints it. */
export interface LabTable {
  readonly columns: readonly LabColumn[];
  /** A row of each pattern: its cells, and in one sentence where it is quieter, and why. */
  readonly rows: readonly { readonly name: string; readonly cells: readonly string[]; readonly sentence: string }[];
}

/** "mps over cuda: 5.56x". Of more places, those that are furthest apart. */
function widestText({ widest }: ComparisonRow, names: readonly string[]): string {
  return widest === null ? "–" : `${names[widest.louder]} over ${names[widest.quieter]}: ${ratioText(widest.factor)}`;
}

/** Leaky, fixed and ratio of each place, then which is the louder one and by how much. */
export function comparisonTable(places: readonly LabDocument[]): LabTable {
  const names = placeNames(places);
  const columns: readonly LabColumn[] = [
    { name: "pattern", align: "l" },
    ...names.flatMap((name): readonly LabColumn[] => [
      { name: `${name} leaky`, align: "r" },
      { name: "fixed", align: "r" },
      { name: "ratio", align: "r" },
    ]),
    { name: places.length > 2 ? "loudest over quietest" : "louder over quieter", align: "l" },
  ];
  const rows = compareRounds(places).map((row) => ({
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
