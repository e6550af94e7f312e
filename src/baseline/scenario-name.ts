import { createHash } from "node:crypto";

/** Longest part of a name that is kept as it is; with the hash behind it, file systems and archives take it. */
const KEPT = 64;

/**
 * A scenario's directory name, in a bundle and in a store. Plain names stay themselves; anything a file system, a shell or an
 * archive could read otherwise ("../../x", "a/b", "", "CON", unicode look-alikes) becomes its plain letters and a hash, so
 * two names never share a directory.
 */
export function scenarioDirectory(name: string): string {
  const reserved = /^(con|prn|aux|nul|com\d|lpt\d)$/i.test(name);
  if (/^[a-z0-9][a-z0-9._-]*$/.test(name) && !name.endsWith(".") && name.length <= KEPT && !reserved) return name;
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, KEPT);
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 12);
  return plain === "" ? `scenario-${hash}` : `${plain}-${hash}`;
}
