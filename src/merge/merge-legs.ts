import path from "node:path";
import { usageError } from "../core/errors.ts";
import { groupBy } from "../core/group-by.ts";

/** What has to be there: a number of legs, or their names. */
export type ExpectedLegs =
  | { readonly kind: "count"; readonly count: number }
  | { readonly kind: "names"; readonly names: readonly string[] };

/** More than any matrix or job has. */
const MAX_LEGS = 4096;

/**
 * Read "3" or "linux, macos".
 * @throws GateError EXPECT_INVALID (usage)
 */
export function parseExpected(text: string): ExpectedLegs {
  const words = text
    .split(/[\s,]+/)
    .map((word) => word.trim())
    .filter((word) => word !== "");
  const [only] = words;
  if (only !== undefined && words.length === 1 && /^\d+$/.test(only)) {
    const count = Number(only);
    if (count >= 1 && count <= MAX_LEGS) return { kind: "count", count };
  } else if (words.length > 0 && words.length <= MAX_LEGS) {
    return { kind: "names", names: [...new Set(words)] };
  }
  throw usageError(
    "EXPECT_INVALID",
    `"${text}" is neither a number of legs nor their names`,
    `Write a number from 1 to ${MAX_LEGS}, or names with commas between them.`,
  );
}

/** A leg that should have come and did not. */
export interface AbsentLeg {
  readonly name: string;
  readonly message: string;
}

/** What is missing of what was expected; a number cannot tell which leg it is. */
export function absentLegs(expected: ExpectedLegs | null, present: readonly string[]): readonly AbsentLeg[] {
  if (expected === null) return [];
  if (expected.kind === "names") {
    return expected.names
      .filter((name) => !present.includes(name))
      .map((name) => ({ name, message: `the leg ${name} was expected and left nothing` }));
  }
  const missing = expected.count - present.length;
  if (missing <= 0) return [];
  const message = `${missing} of ${expected.count} expected legs left nothing`;
  return [{ name: missing === 1 ? "missing leg" : `${missing} missing legs`, message }];
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** Order of names that does not depend on the order they were given in: numbers by value, then by character. */
export function compareNames(a: string, b: string): number {
  return COLLATOR.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

/**
 * What each of several absolute directories is called: the shortest end of its path that no other one has. Directories that all of
 * them end with (`…/stormlog-bundle`) say nothing and are left out.
 */
export function legNames(directories: readonly string[]): readonly string[] {
  const parts = directories.map((directory) => directory.split(path.sep).filter((part) => part !== ""));
  const shortest = Math.min(...parts.map(({ length }) => length));
  let common = 0;
  if (directories.length > 1) {
    while (common < shortest - 1 && new Set(parts.map((own) => own.at(-1 - common))).size === 1) common += 1;
  }
  const trimmed = parts.map((own) => own.slice(0, own.length - common));
  const names: (string | undefined)[] = trimmed.map(() => undefined);
  let open = trimmed.map((_, index) => index);
  // Each round looks at one directory more of those that have no name of their own yet.
  for (let length = 1; open.length > 0; length += 1) {
    const endOf = (index: number) => trimmed[index]?.slice(-length).join("/") ?? "";
    const all = groupBy(trimmed.keys(), endOf);
    open = open.filter((index) => {
      const own = trimmed[index] ?? [];
      if (length < own.length && all.get(endOf(index))?.length !== 1) return true;
      names[index] = endOf(index) || path.sep;
      return false;
    });
  }
  return names.map((name) => name ?? path.sep);
}
