// The notes of a release are its section of the changelog, verbatim.
//
//   node scripts/release/notes.mjs X.Y.Z      prints them
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { main, ReleaseError } from "./fail.mjs";

/** Fences hold text of others: lines like headings in one are not headings. */
function headings(lines) {
  let fence = null;
  return lines.map((line) => {
    const [, mark] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
    if (mark !== undefined) {
      if (fence === null) fence = mark;
      else if (mark[0] === fence[0] && mark.length >= fence.length) fence = null;
      return null;
    }
    return fence === null ? (/^## +\[?v?([^\s\]]+)\]?/.exec(line)?.[1] ?? null) : null;
  });
}

/** The section of one version: `## X.Y.Z`, with a date behind it or not, up to the next heading of that depth. */
export function releaseNotes(changelog, version) {
  const lines = changelog.split(/\r?\n/);
  const titles = headings(lines);
  const found = titles.flatMap((title, index) => (title === version ? [index] : []));
  if (found.length === 0) throw new ReleaseError(`CHANGELOG.md has no section "## ${version}"`);
  if (found.length > 1) throw new ReleaseError(`CHANGELOG.md has ${found.length} sections "## ${version}"`);
  const start = found[0] + 1;
  const next = titles.findIndex((title, index) => index >= start && title !== null);
  const text = lines
    .slice(start, next < 0 ? undefined : next)
    .join("\n")
    .trim();
  // Headings alone are not notes.
  if (!text.split("\n").some((line) => line.trim() !== "" && !line.startsWith("#"))) {
    throw new ReleaseError(`CHANGELOG.md says nothing under "## ${version}"`);
  }
  return `${text}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(() => {
    const version = process.argv[2]?.replace(/^v/, "");
    if (version === undefined) throw new ReleaseError("which version? node scripts/release/notes.mjs X.Y.Z");
    process.stdout.write(releaseNotes(readFileSync("CHANGELOG.md", "utf8"), version));
  });
}
