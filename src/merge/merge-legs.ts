import path from "node:path";
import { usageError } from "../core/errors.ts";
import { groupBy } from "../core/group-by.ts";

/** The legs that a merge needs: their number or their names. */
export type ExpectedLegs =
  | { readonly kind: "count"; readonly count: number }
  | { readonly kind: "names"; readonly names: readonly string[] };

/** Read "3" or "linux, macos"; throws the usage error EXPECT_INVALID. */
export function parseExpected(text: string): ExpectedLegs {
  const items = text.split(/[\s,]+/).filter((item) => item !== "");
  const [only] = items;
  if (only !== undefined && items.length === 1 && /^\d+$/.test(only)) {
    if (/^[1-9]\d{0,5}$/.test(only)) return { kind: "count", count: Number(only) };
  } else if (items.length > 0) return { kind: "names", names: [...new Set(items)] };
  throw usageError(
    "EXPECT_INVALID",
    `"${text}" is neither a number of legs nor a list of their names`,
    "Write a number from 1 to 999999, or names separated by commas.",
  );
}

/** An expected leg that is missing. */
export interface AbsentLeg {
  readonly name: string;
  readonly message: string;
}

/** The expected legs that are missing; unnamed where only their number is known. */
export function absentLegs(expected: ExpectedLegs | null, present: readonly string[]): readonly AbsentLeg[] {
  if (expected === null) return [];
  if (expected.kind === "names") {
    const reported = new Set(present);
    return expected.names
      .filter((name) => !reported.has(name))
      .map((name) => ({ name, message: `the leg ${name} was expected and did not report` }));
  }
  const missing = expected.count - present.length;
  if (missing <= 0) return [];
  const message = `${missing} of ${expected.count} expected legs did not report`;
  return [{ name: missing === 1 ? "missing leg" : `${missing} missing legs`, message }];
}

/** One name for several legs: "a+b+c", or "a+7" for more than three. */
export function joinedName(names: readonly string[]): string {
  // Names listed in a joined name.
  return names.length > 3 ? `${names[0]}+${names.length - 1}` : names.join("+");
}

/** Items without copies, each with a note: a copy could replace a missing item. `keyOf` null = not a copy. */
export function withoutCopies<T extends { readonly name: string }>(
  items: readonly T[],
  keyOf: (item: T) => string | null,
  warnings: string[],
): readonly T[] {
  const seen = new Map<string, string>();
  return items.filter((item) => {
    const key = keyOf(item);
    const first = key === null ? undefined : seen.get(key);
    if (first !== undefined) warnings.push(`${item.name} is a copy of ${first} and counts once`);
    else if (key !== null) seen.set(key, item.name);
    return first === undefined;
  });
}

/** Names of absolute directories: for each the shortest unique end of its path, without an end that all share. */
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
  // Each round adds one directory to the names that are not unique yet.
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
