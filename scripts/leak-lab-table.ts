// Writes the table of rounds of the leak lab into docs/leak-lab.md, between its marks.
//
//   npx tsx scripts/leak-lab-table.ts FOLDER…       folders that `stormlog-gate lab run` left
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../src/core/package-root.ts";
import { CATALOGUE } from "../src/gate/lab-catalogue.ts";
import { readRounds } from "../src/gate/lab-files.ts";
import { catalogueMarkdown, roundTitle } from "../src/report/lab-table.ts";

const MARKS = ["<!-- table begins -->", "<!-- table ends -->"] as const;

const rounds = await readRounds(process.argv.slice(2).map((folder) => path.resolve(folder)));
const [first] = rounds;
if (first === undefined) throw new Error("name the folder of at least one round");
// Rounds of one machine that took the frameworks from several Pythons are one table.
const place = ({ document }: (typeof rounds)[number]): string => `${document.backend} ${document.scale}`;
const strangers = rounds.filter((round) => place(round) !== place(first)).map(({ document }) => roundTitle(document));
if (strangers.length > 0) throw new Error(`not of one backend and scale: ${strangers.join("; ")}`);
const patterns = CATALOGUE.flatMap(({ name }) => {
  const found = rounds.flatMap(({ document }) => document.patterns.filter((one) => one.name === name));
  return found.filter(({ outcome }) => outcome !== "skipped").slice(0, 1);
});
const file = path.join(packageRoot(), "docs", "leak-lab.md");
const page = readFileSync(file, "utf8");
const [begin, end] = MARKS.map((mark) => page.indexOf(mark));
if (begin === undefined || end === undefined || begin < 0 || end < begin) throw new Error("the page has no marks");
const table = catalogueMarkdown({ ...first.document, patterns });
writeFileSync(file, `${page.slice(0, begin + MARKS[0].length)}\n${table}\n${page.slice(end)}`);
console.log(`${patterns.length} patterns of ${CATALOGUE.length} in docs/leak-lab.md`);
