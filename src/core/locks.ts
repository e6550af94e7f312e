import { invalidInput } from "./errors.ts";
import { isNestedWithin, isObject, type Json } from "./json.ts";

/** A package that differs between two locks; null = absent there. */
export interface PackageChange {
  readonly name: string;
  readonly good: string | null;
  readonly bad: string | null;
}

/** A package in a lock. */
interface LockedPackage {
  /** Its versions, where several are locked joined by " or ". */
  readonly version: string;
  /** Its part of the lock, which differs where anything of it does. */
  readonly text: string;
}

export type LockedPackages = ReadonlyMap<string, LockedPackage>;

/** The packages that differ, by name. */
export function packageChanges(good: LockedPackages, bad: LockedPackages): PackageChange[] {
  return [...new Set([...good.keys(), ...bad.keys()])]
    .filter((name) => good.get(name)?.text !== bad.get(name)?.text)
    .sort()
    .map((name) => ({ name, good: good.get(name)?.version ?? null, bad: bad.get(name)?.version ?? null }));
}

/** The name of a Python package in its normal form (PEP 503). */
export const normalName = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, "-");

/** Entries of packages, of which a lock may contain several: for each environment, or nested. */
class Entries {
  readonly #byName = new Map<string, { readonly versions: Set<string>; readonly texts: string[] }>();

  add(name: string, version: string, text: string): void {
    const known = this.#byName.get(name) ?? { versions: new Set(), texts: [] };
    this.#byName.set(name, known);
    known.versions.add(version);
    known.texts.push(text);
  }

  packages(): LockedPackages {
    return new Map(
      [...this.#byName].map(([name, { versions, texts }]) => [
        name,
        { version: [...versions].join(" or "), text: texts.join("\n") },
      ]),
    );
  }
}

interface Requirements {
  /** Options of the whole file, such as its index. */
  readonly options: readonly string[];
  readonly entries: LockedPackages;
  /** Lines that name no exact version. */
  readonly loose: readonly string[];
}

const GLOBAL_OPTION =
  /^(?:-i|-f|--(?:index-url|extra-index-url|find-links|no-index|trusted-host|only-binary|no-binary|prefer-binary|pre|require-hashes))(?:[ =]|$)/;

/** Requirements of pip with exact versions. */
export function readRequirements(text: string): Requirements {
  const options: string[] = [];
  const loose: string[] = [];
  const entries = new Entries();
  for (const raw of text.replace(/\\\r?\n/g, " ").split(/\r?\n/)) {
    const line = raw.replace(/(^|\s)#.*$/, "").trim();
    if (line === "") continue;
    if (GLOBAL_OPTION.test(line)) {
      options.push(line);
      continue;
    }
    // White space has one reading, so that a line of it is not tried in every division.
    const [, name, exact, url] =
      /^([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\]\s*)?(?:===?\s*([^\s;,]+)|@\s*(\S+))/.exec(
        // Characters of a line within which its version stands.
        line.slice(0, 4096),
      ) ?? [];
    const version = exact ?? url;
    if (name === undefined || version === undefined) loose.push(line);
    // Markers decide which of several lines counts.
    else entries.add(normalName(name), version, line);
  }
  return { options, entries: entries.packages(), loose };
}

export interface NpmLock {
  readonly whole: Json;
  /** Entries by path; "" is the project. */
  readonly packages: Readonly<Record<string, Json>>;
}

/** A package-lock.json of version 2 or 3. @throws GateError LOCK_INVALID, LOCK_UNSUPPORTED (exit 5) */
export function readNpmLock(text: string, file: string): NpmLock {
  let whole: unknown;
  try {
    whole = JSON.parse(text);
  } catch {
    throw invalidInput("LOCK_INVALID", "it is not JSON", file);
  }
  const packages = isObject(whole) ? whole.packages : undefined;
  if (!isObject(whole) || !isObject(packages) || !Object.values(packages).every(isObject)) {
    const hint = "Locks of version 2 and 3 have `packages`; `npm install --package-lock-only` writes one.";
    throw invalidInput("LOCK_UNSUPPORTED", "it has no `packages`", file, hint);
  }
  // A lock has five levels or so. A mixture is written by recursion, which needs stack for each.
  if (!isNestedWithin(whole, 64)) throw invalidInput("LOCK_INVALID", "its values are nested too deeply", file);
  return { whole, packages: packages as Readonly<Record<string, Json>> };
}

/** The package of a path: "node_modules/a/node_modules/@b/c" -> "@b/c". */
export const npmName = (key: string): string => key.split("node_modules/").at(-1) ?? key;

/** The packages of npm's lock, whose nested copies are one entry. */
export function npmPackages({ packages }: Pick<NpmLock, "packages">): LockedPackages {
  const entries = new Entries();
  for (const [key, value] of Object.entries(packages)) {
    if (key === "") continue;
    const version = typeof value.version === "string" ? value.version : "linked";
    entries.add(npmName(key), version, `${key} ${version} ${String(value.resolved)} ${String(value.integrity)}`);
  }
  return entries.packages();
}

/** The packages of a lock of uv or Poetry: generated TOML, in which name and version are lines of `[[package]]`. */
function readTomlLock(text: string): LockedPackages {
  const entries = new Entries();
  for (const part of text.split(/^\[\[package\]\]\r?$/m).slice(1)) {
    const fields = new Map<string, string>();
    let own = false;
    for (const line of part.split("\n")) {
      // A table of the package, or the next one.
      if (line.startsWith("[")) break;
      // Sources of uv's lock that are the project itself.
      own ||= /^source = \{ (?:editable|virtual|directory|workspace) = /.test(line);
      const [, field, value] = /^(name|version) = "([^"\\]+)"\r?$/.exec(line) ?? [];
      if (field !== undefined && value !== undefined) fields.set(field, value);
    }
    const [name, version] = [fields.get("name"), fields.get("version")];
    if (name !== undefined && version !== undefined && !own) entries.add(normalName(name), version, version);
  }
  return entries.packages();
}

/** The packages of a pnpm-lock.yaml by the keys of `packages`: a reader of YAML takes a second for each megabyte. */
function readPnpmLock(text: string): LockedPackages {
  const entries = new Entries();
  let inside = false;
  for (const line of text.split(/\r?\n/)) {
    if (/^\S/.test(line)) inside = /^packages:\s*$/.test(line);
    const key = inside ? /^ {2}(['"]?)(\S[^'"]*)\1:(?: |$)/.exec(line)?.[2] : undefined;
    // Keys of a package: "a@1.0.0(b@2.0.0)", "/a@1.0.0", and before version 6 "/a/1.0.0_b@2.0.0".
    const [, name, version] =
      /^\/?((?:@[^/@]+\/)?[^/@]+)@([^()]+)/.exec(key ?? "") ??
      /^\/((?:@[^/@]+\/)?[^/@]+)\/([^_()/]+)/.exec(key ?? "") ??
      [];
    if (name !== undefined && version !== undefined) entries.add(name, version, version);
  }
  return entries.packages();
}

/** Where the packages of a lock are installed from. */
export type Ecosystem = "python" | "node";

/** Git patterns of the lock files that {@link lockedPackages} reads. */
export const LOCK_PATTERNS: readonly string[] = [
  "**/*requirements*.txt",
  "**/requirements/*.txt",
  "**/uv.lock",
  "**/poetry.lock",
  "**/package-lock.json",
  "**/npm-shrinkwrap.json",
  "**/pnpm-lock.yaml",
];

/**
 * The packages of a lock file of any of these tools, by its name; lines of requirements without an exact version and
 * packages of the project itself are left out.
 * @throws GateError LOCK_INVALID, LOCK_UNSUPPORTED (exit 5)
 */
export function lockedPackages(
  text: string,
  file: string,
): { readonly ecosystem: Ecosystem; readonly packages: LockedPackages } {
  switch (file.split("/").at(-1)) {
    case "uv.lock":
    case "poetry.lock":
      return { ecosystem: "python", packages: readTomlLock(text) };
    case "pnpm-lock.yaml":
      return { ecosystem: "node", packages: readPnpmLock(text) };
    case "package-lock.json":
    case "npm-shrinkwrap.json": {
      const { packages } = readNpmLock(text, file);
      const installed = Object.entries(packages).filter(([key]) => key.includes("node_modules/"));
      return { ecosystem: "node", packages: npmPackages({ packages: Object.fromEntries(installed) }) };
    }
    default:
      return { ecosystem: "python", packages: readRequirements(text).entries };
  }
}
