import { readdirSync } from "node:fs";
import path from "node:path";
import type { LinePackage, Package } from "../../analysis/series/document.ts";
import { readBounded } from "../../core/files.ts";
import { isObject, type Json } from "../../core/json.ts";
import { normalName } from "../../core/locks.ts";

/** Maximum size of one file of an installation, bytes. PyTorch's RECORD has about 2 MiB. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

const VERSION = /^[\w.!+-]{1,100}$/;

/** Whether a file lies in a directory into which packages are installed. Uses "/" as separator. */
export function isPackageFile(file: string): boolean {
  return /(?:^|\/)(?:site-packages|dist-packages|node_modules)\/./.test(file);
}

/** Names of the files in a RECORD (PEP 376): the first field of each line of comma-separated values. */
export function* recordedFiles(record: string): Generator<string> {
  for (const line of record.split(/\r?\n/)) {
    // Longer than the name of any file, characters.
    if (line.length > 8192) continue;
    const quoted = /^"((?:[^"]|"")*)"/.exec(line)?.[1];
    yield quoted === undefined ? (line.split(",", 1)[0] ?? "") : quoted.replaceAll('""', '"');
  }
}

/** Name and version of the header fields of METADATA or PKG-INFO; null without either. */
export function distributionOf(metadata: string): Package | null {
  const [header = ""] = metadata.split(/\r?\n\r?\n/, 1);
  const field = (name: string): string => new RegExp(`^${name}:[ \\t]*(\\S+)[ \\t]*$`, "im").exec(header)?.[1] ?? "";
  const [name, version] = [field("Name"), field("Version")];
  // Names of distributions (PEP 508) and versions (PEP 440), so that nothing of a damaged file is taken for one.
  return /^[A-Za-z0-9](?:[\w.-]{0,212}[A-Za-z0-9])?$/.test(name) && VERSION.test(version)
    ? { ecosystem: "python", name, version }
    : null;
}

/** Reads files up to the limits; null where a file is absent, is not a regular one, or is too large. */
class BoundedReader {
  // Of all files that are read for one report, bytes.
  #left = 256 * 1024 * 1024;

  /** Whether a file was left out that could have contained more. */
  get exhausted(): boolean {
    return this.#left <= 0;
  }

  text(file: string): string | null {
    try {
      const content = readBounded(file, Math.min(MAX_FILE_BYTES, this.#left));
      this.#left -= content.length;
      return content.toString("utf8");
    } catch (error) {
      const { code, bytes } = error as NodeJS.ErrnoException & { readonly bytes?: number };
      if (code === undefined) throw error;
      if (bytes !== undefined && bytes > this.#left) this.#left = 0;
      return null;
    }
  }
}

/** A directory of packages' metadata, with what is known of its files. */
interface Distribution {
  readonly directory: string;
  /** Wanted files that it lists; null where it has no list. */
  readonly listed: ReadonlySet<string> | null;
  /** Names that can be imported. */
  readonly modules: readonly string[];
}

function readDistribution(directory: string, wanted: ReadonlySet<string>, reader: BoundedReader): Distribution {
  const record = directory.endsWith(".dist-info") ? reader.text(path.join(directory, "RECORD")) : null;
  if (record !== null) {
    const listed = new Set<string>();
    for (const file of recordedFiles(record)) if (wanted.has(file)) listed.add(file);
    return { directory, listed, modules: [] };
  }
  const topLevel = reader.text(path.join(directory, "top_level.txt"));
  const named = path.basename(directory).replace(/(?:-[^-]*)?(?:-py[\d.]+)?\.(?:dist|egg)-info$/, "");
  const modules =
    topLevel === null ? [normalName(named).replaceAll("-", "_")] : topLevel.split(/\s+/).filter((name) => name !== "");
  return { directory, listed: null, modules };
}

/** The only distribution that lists a file, or, where none does, the only one without a list that has its module. */
function ownerOf(file: string, distributions: readonly Distribution[]): Distribution | null {
  const listing = distributions.filter(({ listed }) => listed?.has(file) === true);
  const module = (file.split("/")[0] ?? "").replace(/\..*$/, "");
  const owners =
    listing.length > 0
      ? listing
      : distributions.filter(({ listed, modules }) => listed === null && modules.includes(module));
  return owners.length === 1 ? (owners[0] ?? null) : null;
}

function pythonPackages(root: string, files: readonly string[], reader: BoundedReader): ReadonlyMap<string, Package> {
  const found = new Map<string, Package>();
  let names: string[];
  try {
    names = readdirSync(root).filter((name) => /\.(?:dist|egg)-info$/.test(name));
  } catch {
    return found;
  }
  // In one directory of packages: with more, another one could contain the file as well.
  if (names.length > 5000) return found;
  const wanted = new Set(files);
  const distributions = names.map((name) => readDistribution(path.join(root, name), wanted, reader));
  // What was not read could list the file too.
  if (reader.exhausted) return found;
  for (const file of files) {
    const owner = ownerOf(file, distributions);
    if (owner === null) continue;
    const metadata = reader.text(path.join(owner.directory, "METADATA"));
    const text = metadata ?? reader.text(path.join(owner.directory, "PKG-INFO"));
    const known = text === null ? null : distributionOf(text);
    if (known !== null) found.set(file, known);
  }
  return found;
}

/** Packages that pip's installation report (its version 1) marks yanked: normal name and version of each. */
function yankedPackages(report: string | null, reader: BoundedReader): ReadonlySet<string> {
  const install = report === null ? undefined : readObject(report, reader)?.install;
  const yanked = (Array.isArray(install) ? install : []).flatMap((item: unknown) => {
    const { is_yanked: isYanked, metadata } = isObject(item) ? item : {};
    const { name, version } = isObject(metadata) ? metadata : {};
    return isYanked === true && typeof name === "string" ? [`${normalName(name)} ${version}`] : [];
  });
  return new Set(yanked);
}

function readObject(file: string, reader: BoundedReader): Json | null {
  try {
    const value: unknown = JSON.parse(reader.text(file) ?? "null");
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Why the lock that npm left beside the package calls this version deprecated; null where it does not. */
function deprecation(directory: string, version: string, reader: BoundedReader): string | null {
  const top = directory.slice(0, directory.indexOf("/node_modules/"));
  for (const file of ["package-lock.json", "node_modules/.package-lock.json"]) {
    const packages = readObject(path.join(top, file), reader)?.packages as Json | undefined;
    const entry = packages?.[directory.slice(top.length + 1)] as Json | undefined;
    if (entry?.version === version && typeof entry.deprecated === "string" && entry.deprecated.trim() !== "") {
      return entry.deprecated.trim().slice(0, 300);
    }
  }
  return null;
}

function nodePackage(directory: string, reader: BoundedReader): Package | null {
  const { name, version } = readObject(path.join(directory, "package.json"), reader) ?? {};
  if (typeof name !== "string" || typeof version !== "string") return null;
  if (!/^(?:@[\w.~-]{1,100}\/)?[\w.~-]{1,214}$/.test(name) || !VERSION.test(version)) return null;
  const deprecated = deprecation(directory, version, reader);
  return { ecosystem: "node", name, version, ...(deprecated === null ? {} : { deprecated }) };
}

/**
 * The installed packages of files: of Python by the RECORD that lists the file (PEP 376), of Node by the nearest
 * `node_modules`. A file that no package, or more than one, is known to contain is absent. Never throws for what is in
 * the directories, which the measured program could have written.
 * @param files absolute, with "/" as separator
 * @param pipReport pip's installation report, whose yanked versions are marked; null for none
 */
export function installedPackages(
  files: readonly string[],
  pipReport: string | null = null,
): ReadonlyMap<string, Package> {
  const reader = new BoundedReader();
  const found = new Map<string, Package>();
  const roots = new Map<string, string[]>();
  for (const file of new Set(files)) {
    // Directory of a package of Node, and of its innermost `node_modules`.
    const [, directory] = /^((.*\/node_modules)\/((?:@[^/]+\/)?[^@./][^/]*))\/.+$/s.exec(file) ?? [];
    // Directory of a Python file's packages, and the file's name in it.
    const [, root, own] = /^(.*\/(?:site|dist)-packages)\/(.+)$/s.exec(file) ?? [];
    // A wheel may contain a `node_modules` of its own, and a package of Node an environment of Python.
    if (root !== undefined && own !== undefined && root.length > (directory?.lastIndexOf("/node_modules/") ?? -1)) {
      roots.set(root, [...(roots.get(root) ?? []), own]);
    } else if (directory !== undefined) {
      const known = nodePackage(directory, reader);
      if (known !== null) found.set(file, known);
    }
  }
  const yanked = roots.size === 0 ? new Set<string>() : yankedPackages(pipReport, reader);
  for (const [root, own] of roots) {
    for (const [file, known] of pythonPackages(root, own, reader)) {
      const isYanked = yanked.has(`${normalName(known.name)} ${known.version}`);
      found.set(`${root}/${file}`, isYanked ? { ...known, yanked: true } : known);
    }
  }
  return found;
}

/** The installed package of each thing, by a file of it; a thing without one is absent. */
export function packagesBy<T>(
  files: readonly { readonly of: T; readonly file: string; readonly relation: LinePackage["relation"] }[],
  pipReport: string | null,
): ReadonlyMap<T, LinePackage> {
  const packages = installedPackages(
    files.map(({ file }) => file),
    pipReport,
  );
  return new Map(
    files.flatMap(({ of, file, relation }) => {
      const known = packages.get(file);
      return known === undefined ? [] : [[of, { ...known, relation }] as const];
    }),
  );
}
