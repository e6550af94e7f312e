/** Lines of the newer version of a file, 1-based, both ends included. */
interface LineRange {
  readonly first: number;
  readonly last: number;
}

/** Lines that were removed where none was written. */
interface RemovedLines {
  /** The line of the newer version before them; 0 = they were at the top. */
  readonly after: number;
  readonly lines: readonly string[];
}

/** The changes of one file in a diff. */
export type FileChange =
  | {
      readonly kind: "lines";
      readonly changed: readonly LineRange[];
      readonly removed: readonly RemovedLines[];
    }
  /** A binary file, a conflict or the diff of a merge: it does not name the lines that changed. */
  | { readonly kind: "unknown" };

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  t: "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
};

/** A name as git writes it: in C-style quotes when it has special characters, else as it is. */
function nameOf(text: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"/s.exec(text)?.[1];
  if (quoted === undefined) return text;
  const bytes = [...quoted.matchAll(/\\([0-3][0-7]{2})|\\(.)|([^\\]+)/gs)].map(([, octal, escaped, plain = ""]) =>
    octal === undefined
      ? Buffer.from(escaped === undefined ? plain : (ESCAPES[escaped] ?? escaped))
      : Buffer.of(Number.parseInt(octal, 8)),
  );
  return Buffer.concat(bytes).toString("utf8");
}

/** The name behind "--- " or "+++ ", where git ends a name that contains white space with a tab; null for no file. */
function sideName(text: string): string | null {
  if (text === "/dev/null") return null;
  return nameOf(text.endsWith("\t") ? text.slice(0, -1) : text).replace(/^[ab]\//, "");
}

/** The name in "a/NAME b/NAME", where both are the same. A rename is named by a line of its own. */
function headerName(text: string): string | null {
  if (text.startsWith('"')) return nameOf(text).replace(/^a\//, "");
  const name = text.slice(2, (text.length - 1) / 2);
  return text === `a/${name} b/${name}` ? name : null;
}

const HUNK = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

interface LineChanges {
  readonly changed: LineRange[];
  readonly removed: RemovedLines[];
}

/** Read the lines of a hunk into `changes`. @returns the number of the first line behind it */
function readHunk(lines: readonly string[], header: number, changes: LineChanges): number {
  const [, oldCount = "1", start = "0", newCount = "1"] = HUNK.exec(lines[header] ?? "") ?? [];
  let oldLeft = Number(oldCount);
  let newLeft = Number(newCount);
  // Of a hunk without new lines, git gives the line before it.
  let next = newLeft === 0 ? Number(start) + 1 : Number(start);
  let removed: string[] = [];
  let added = 0;
  const endBlock = (): void => {
    if (added > 0) changes.changed.push({ first: next - added, last: next - 1 });
    else if (removed.length > 0) changes.removed.push({ after: next - 1, lines: removed });
    removed = [];
    added = 0;
  };
  let at = header + 1;
  for (; (oldLeft > 0 || newLeft > 0) && at < lines.length; at += 1) {
    switch (lines[at]?.[0]) {
      case "-":
        oldLeft -= 1;
        removed.push(lines[at]?.slice(1) ?? "");
        break;
      case "+":
        newLeft -= 1;
        added += 1;
        next += 1;
        break;
      case "\\":
        break;
      default:
        endBlock();
        oldLeft -= 1;
        newLeft -= 1;
        next += 1;
    }
  }
  endBlock();
  return at;
}

const HEADER =
  /^(diff --git|diff --cc|diff --combined|\* Unmerged path|rename to|copy to|\+\+\+|Binary files|GIT binary) (.*)$/s;

/** The changes of each file in the output of `git diff` with the prefixes a/ and b/; deleted files are left out. */
export function diffLines(text: string): ReadonlyMap<string, FileChange> {
  const files = new Map<string, LineChanges>();
  const unknown = new Set<string>();
  const lines = text.split("\n");
  let name: string | null = null;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    if (HUNK.test(line)) {
      const changes = files.get(name ?? "") ?? { changed: [], removed: [] };
      if (name !== null) files.set(name, changes);
      at = readHunk(lines, at, changes);
      continue;
    }
    const [, key, value = ""] = HEADER.exec(line) ?? [];
    if (key === "diff --git") name = headerName(value);
    else if (key === "rename to" || key === "copy to") name = nameOf(value);
    else if (key === "+++") name = sideName(value);
    else if (key === "Binary files" || key === "GIT binary") {
      if (name !== null && !value.endsWith(" and /dev/null differ")) unknown.add(name);
    } else if (key !== undefined) {
      unknown.add(nameOf(value));
      // The hunks of a merge have a column for each parent.
      if (key !== "* Unmerged path") at = endOfMerged(lines, at);
    }
    at += 1;
  }
  const known = [...files].map(([file, changes]): [string, FileChange] => [file, { kind: "lines", ...changes }]);
  return new Map([...known, ...[...unknown].map((file): [string, FileChange] => [file, { kind: "unknown" }])]);
}

/** The last line of a merged file's diff: none of its lines begins like the header of the next file. */
function endOfMerged(lines: readonly string[], header: number): number {
  let at = header;
  while (at + 1 < lines.length && !/^(?:diff --|\* Unmerged path )/.test(lines[at + 1] ?? "")) at += 1;
  return at;
}
