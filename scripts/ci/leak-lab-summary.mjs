// Results of several rounds of the leak lab: `node leak-lab-summary.mjs DIR ROUNDS [PATTERN…]`, where DIR holds
// `catalogue.json` (what `lab list --json` prints) and a directory of results for each round, and the patterns are
// those that the rounds requested by name. Ends with 1 when a round is missing or an outcome is a surprise.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

const [directory = ".", rounds = "1", ...named] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(path.join(directory, file), "utf8"));

const expected = new Map(read("catalogue.json").patterns.map(({ name, expected: word }) => [name, word]));
/**
 * As in `lab run`: a warning about what should not be visible is expected, and so is skipping a pattern that was not
 * requested by name.
 */
const surprising = (name, outcome) =>
  outcome === "skipped"
    ? named.includes(name)
    : outcome !== expected.get(name) && !(expected.get(name) === "not-visible" && outcome === "warned");

const outcomes = new Map();
const missing = [];
for (let round = 1; round <= Number(rounds); round += 1) {
  if (!existsSync(path.join(directory, String(round), "lab.json"))) missing.push(round);
  else
    for (const { name, outcome } of read(`${round}/lab.json`).patterns)
      outcomes.set(name, [...(outcomes.get(name) ?? []), { round, outcome }]);
}

const width = Math.max(8, ...[...outcomes.keys()].map((name) => name.length));
console.log(`${"pattern".padEnd(width)}  ${"should be".padEnd(11)}  was`);
const odd = [];
for (const [name, seen] of outcomes) {
  const counts = new Map();
  for (const { outcome } of seen) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const words = [...counts].map(([outcome, count]) => `${outcome} ${count} of ${seen.length}`).join(", ");
  const surprises = seen.filter(({ outcome }) => surprising(name, outcome));
  odd.push(...surprises);
  const where = surprises.length === 0 ? "" : `   <- round ${surprises.map(({ round }) => round).join(", ")}`;
  console.log(`${name.padEnd(width)}  ${(expected.get(name) ?? "?").padEnd(11)}  ${words}${where}`);
}
const judged = [...outcomes.values()].flat().filter(({ outcome }) => !["skipped", "broken"].includes(outcome));
const count = (word) => judged.filter(({ outcome }) => outcome === word).length;
const visible = [...outcomes].filter(([name]) => expected.get(name) === "caught").flatMap(([, seen]) => seen);
const due = visible.filter(({ outcome }) => outcome !== "skipped").length;
const caught = visible.filter(({ outcome }) => outcome === "caught").length;
const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
console.log(
  `\n${plural(Number(rounds), "round")}: ${caught} of ${due} leaks caught, ${plural(count("false-alarm"), "false alarm")} in ${judged.length} fixed states, ${plural(odd.length, "surprise")}.`,
);
if (missing.length > 0) console.log(`Without a result: round ${missing.join(", ")}.`);
process.exitCode = odd.length > 0 || missing.length > 0 || judged.length === 0 ? 1 : 0;
