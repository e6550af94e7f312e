import { createHash } from "node:crypto";
import { type Fingerprint, MEMORY_SETTINGS } from "../telemetry/recording/model.ts";

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

/**
 * Fields that are shown when they differ and never prevent a comparison. All other fields are identity: a field of a
 * later version must not allow a comparison of two different machines.
 */
const CONTEXT_FIELDS: ReadonlySet<string> = new Set([
  "driver",
  "driver_version",
  "cuda",
  "cuda_version",
  "rocm",
  "rocm_version",
  "kernel",
  "container_image",
  "image",
  "cpu",
  "cpu_model",
  "cpu_count",
  "python",
  "python_version",
  "os",
  "node",
  "host",
  "hostname",
  "libc",
  "framework_patch",
  "tool_version",
  "command",
  "sampler",
  "isolation",
  ...MEMORY_SETTINGS,
]);

/** Whether a difference in this field makes two runs incomparable. */
export function isIdentityField(field: string): boolean {
  return !CONTEXT_FIELDS.has(field);
}

/** The interpreter's version is a field of its own. */
const unversioned = (command: string): string => command.replace(/^(python|pypy|node|ruby)[\d.]+(?= |$)/, "$1");

/** Whether two commands are known and do other work. */
export function differentCommands(left: string | number | null, right: string | number | null): boolean {
  return left !== null && right !== null && unversioned(String(left)) !== unversioned(String(right));
}

/** The identity fields of an environment, without descriptive and unknown ones. */
export function identityOf(fingerprint: Fingerprint): Fingerprint {
  return Object.fromEntries(
    Object.entries(fingerprint)
      .filter(([field, value]) => isIdentityField(field) && value !== null)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** Identity fields that are known and different on both sides, by name. Empty = comparable. */
export function identityConflicts(left: Fingerprint, right: Fingerprint): readonly string[] {
  const ours = identityOf(left);
  const theirs = identityOf(right);
  return Object.keys(ours).filter((field) => Object.hasOwn(theirs, field) && ours[field] !== theirs[field]);
}

/** Name of an environment in a store: the first 64 bits of the SHA-256 of its identity as canonical JSON, hex. */
export function fingerprintHash(fingerprint: Fingerprint): string {
  return createHash("sha256")
    .update(JSON.stringify(identityOf(fingerprint)))
    .digest("hex")
    .slice(0, 16);
}
