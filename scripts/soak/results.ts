import { existsSync, readFileSync, writeFileSync } from "node:fs";
import * as v from "valibot";
import { withSection } from "../../bench/shared/section.ts";
import { wilsonInterval } from "../../bench/shared/wilson.ts";

export const SOAK_RESULTS = "docs/evidence/soak.json";
export const EVIDENCE_PAGE = "docs/evidence.md";
const BEGIN = "<!-- soak: begin, written by npm run soak -->";
const END = "<!-- soak: end -->";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const EntrySchema = v.object({
  campaign: v.string(),
  unit: v.string(),
  commit: v.string(),
  tries: count,
  failures: count,
  minutes: v.number(),
  /** One for each round. */
  seeds: v.array(count),
  failed_seeds: v.array(count),
});
const ResultsSchema = v.object({ schema: v.literal("stormlog.soak/1"), entries: v.array(EntrySchema) });
export type SoakEntry = v.InferOutput<typeof EntrySchema>;
export type SoakResults = v.InferOutput<typeof ResultsSchema>;

export function readResults(file: string): SoakResults {
  if (!existsSync(file)) return { schema: "stormlog.soak/1", entries: [] };
  return v.parse(ResultsSchema, JSON.parse(readFileSync(file, "utf8")));
}

export function writeResults(file: string, results: SoakResults): void {
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
}

/** The results with one more round in them: rounds of one campaign and commit are one entry. */
export function withRound(
  results: SoakResults,
  { seed, ...round }: Omit<SoakEntry, "seeds" | "failed_seeds"> & { readonly seed: number },
): SoakResults {
  const same = (entry: SoakEntry): boolean => entry.campaign === round.campaign && entry.commit === round.commit;
  const before = results.entries.find(same);
  const after: SoakEntry = {
    ...round,
    tries: round.tries + (before?.tries ?? 0),
    failures: round.failures + (before?.failures ?? 0),
    minutes: Number((round.minutes + (before?.minutes ?? 0)).toFixed(2)),
    seeds: [...(before?.seeds ?? []), seed],
    failed_seeds: [...(before?.failed_seeds ?? []), ...(round.failures > 0 ? [seed] : [])],
  };
  return { ...results, entries: [...results.entries.filter((entry) => !same(entry)), after] };
}

/** Sums of each campaign over all commits, with the 95 % interval of its failure rate. */
function soakTable({ entries }: SoakResults): string {
  const rows = [...new Set(entries.map(({ campaign }) => campaign))].sort().map((name) => {
    const own = entries.filter(({ campaign }) => campaign === name);
    const sum = (key: "tries" | "failures" | "minutes"): number => own.reduce((total, entry) => total + entry[key], 0);
    const [tries, hits] = [sum("tries"), sum("failures")];
    const [low, high] = wilsonInterval({ hits, tries });
    const percent = (share: number): string => `${(100 * share).toPrecision(2)} %`;
    const last = own.at(-1);
    const interval = hits === 0 ? `at most ${percent(high)}` : `${percent(low)} to ${percent(high)}`;
    return `| ${name} | ${last?.unit ?? ""} | ${tries} | ${hits} | ${interval} | ${sum("minutes").toFixed(0)} | \`${last?.commit ?? ""}\` |`;
  });
  const head =
    "| campaign | one try | tries | failures | failure rate, 95 % | minutes | newest commit |\n|---|---|---:|---:|---:|---:|---|";
  return rows.length === 0 ? "No results yet." : `${head}\n${rows.join("\n")}`;
}

/** Replace the section of the evidence page that this program writes. */
export function writePage(file: string, results: SoakResults): void {
  const page = readFileSync(file, "utf8");
  writeFileSync(file, withSection(page, BEGIN, END, soakTable(results)));
}
