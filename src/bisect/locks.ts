import { invalidInput } from "../core/errors.ts";
import { isObject, type Json } from "../core/json.ts";
import {
  type NpmLock,
  npmName,
  npmPackages,
  type PackageChange,
  packageChanges,
  readNpmLock,
  readRequirements,
} from "../core/locks.ts";

/** The difference of two lock files of one kind, and every mixture of them. */
export interface LockDifference {
  readonly kind: "requirements" | "package-lock";
  readonly changes: readonly PackageChange[];
  /** The lock with the bad side of these changes, by index, and the good side of the others. */
  readonly mixture: (included: readonly number[]) => string;
  /** Changed packages that depend on a package in either lock, by index; empty where the lock does not list them. */
  readonly dependents: (name: string) => readonly number[];
}

/**
 * Compare two locks.
 * @throws GateError LOCK_UNSUPPORTED, LOCK_INVALID, LOCKS_EQUAL (exit 5)
 */
export function lockDifference(good: string, bad: string, files: readonly [string, string]): LockDifference {
  const kinds = [kindOf(good, files[0]), kindOf(bad, files[1])];
  if (kinds[0] !== kinds[1]) throw invalidInput("LOCK_INVALID", "--good and --bad are locks of different tools");
  const found = kinds[0] === "package-lock" ? npmDifference(good, bad, files) : pipDifference(good, bad, files);
  if (found.changes.length === 0) throw invalidInput("LOCKS_EQUAL", "the two locks name the same packages", files[1]);
  return found;
}

function kindOf(text: string, file: string): LockDifference["kind"] {
  if (text.trimStart().startsWith("{")) return "package-lock";
  if (/^\[\[package\]\]/m.test(text)) {
    const hint = "Export both as requirements: `poetry export -o good.txt`.";
    throw invalidInput("LOCK_UNSUPPORTED", "lock files of Poetry are not supported", file, hint);
  }
  if (/^lockfileVersion:|^# yarn lockfile/m.test(text)) {
    throw invalidInput(
      "LOCK_UNSUPPORTED",
      "lock files of pnpm and Yarn are not supported",
      file,
      "Use a package-lock.json.",
    );
  }
  return "requirements";
}

/** Requirements that all name an exact version. */
function requirements(text: string, file: string): ReturnType<typeof readRequirements> {
  const found = readRequirements(text);
  const [loose] = found.loose;
  if (loose !== undefined) {
    const hint = "Each line must name one version (`name==1.2`); `pip freeze` or `pip-compile` writes such a file.";
    throw invalidInput("LOCK_UNSUPPORTED", `"${loose.slice(0, 80)}" names no exact version`, file, hint);
  }
  return found;
}

function pipDifference(goodText: string, badText: string, files: readonly [string, string]): LockDifference {
  const good = requirements(goodText, files[0]);
  const bad = requirements(badText, files[1]);
  const changes = packageChanges(good.entries, bad.entries);
  const options = [...new Set([...good.options, ...bad.options])];
  return {
    kind: "requirements",
    changes,
    dependents: () => [],
    mixture: (included) => {
      const inside = new Set(included.map((at) => changes[at]?.name));
      const names = [...new Set([...good.entries.keys(), ...bad.entries.keys()])].sort();
      const lines = names.flatMap((name) => (inside.has(name) ? bad : good).entries.get(name)?.text ?? []);
      return `${[...options, ...lines].join("\n")}\n`;
    },
  };
}

/** Fields of a manifest that list dependencies. */
export const DEPENDENCY_FIELDS = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];

function npmDifference(goodText: string, badText: string, files: readonly [string, string]): LockDifference {
  const good = readNpmLock(goodText, files[0]);
  const bad = readNpmLock(badText, files[1]);
  const changes = packageChanges(npmPackages(good), npmPackages(bad));
  const listed = (entry: Json, field: string): Json => {
    const value = entry[field];
    return isObject(value) ? value : {};
  };
  return {
    kind: "package-lock",
    changes,
    dependents: (name) =>
      changes.flatMap((change, at) =>
        [good, bad].some(({ packages }) =>
          Object.entries(packages).some(
            ([key, entry]) =>
              npmName(key) === change.name &&
              DEPENDENCY_FIELDS.some((field) => Object.hasOwn(listed(entry, field), name)),
          ),
        )
          ? [at]
          : [],
      ),
    mixture: (included) => {
      const inside = new Set(included.map((at) => changes[at]?.name));
      const sideOf = (name: string): NpmLock => (inside.has(name) ? bad : good);
      const keys = [...new Set([...Object.keys(good.packages), ...Object.keys(bad.packages)])].sort();
      const root: Record<string, unknown> = { ...good.packages[""] };
      for (const field of DEPENDENCY_FIELDS) {
        const names = [good, bad].flatMap(({ packages }) => Object.keys(listed(packages[""] ?? {}, field)));
        const pairs = [...new Set(names)].sort().flatMap((name) => {
          const range = listed(sideOf(name).packages[""] ?? {}, field)[name];
          return range === undefined ? [] : [[name, range] as const];
        });
        if (pairs.length > 0) root[field] = Object.fromEntries(pairs);
        else delete root[field];
      }
      const chosen = keys.flatMap((key) => {
        const entry = key === "" ? root : sideOf(npmName(key)).packages[key];
        return entry === undefined ? [] : [[key, entry] as const];
      });
      const { dependencies: _forOldNpm, ...whole } = good.whole;
      return `${JSON.stringify({ ...whole, packages: Object.fromEntries(chosen) }, null, 2)}\n`;
    },
  };
}
