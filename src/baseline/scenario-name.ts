import { createHash } from "node:crypto";

/** Maximum length of the readable prefix. With the hash, file systems and archives accept the name. */
const KEPT = 64;

/**
 * A scenario's directory name, in a bundle and in a store. Plain names stay unchanged. Names that a file system, a
 * shell or an archive could misread ("../../x", "a/b", "", "CON", unicode look-alikes) become their plain letters and a
 * hash, so that two names never share a directory.
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
