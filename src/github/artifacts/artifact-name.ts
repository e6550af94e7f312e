import { createHash } from "node:crypto";

/** What the artifact service refuses in a name, plus control characters. */
const FORBIDDEN = /["<>|*?\\/:\u0000-\u001f\u007f-\u009f]/g;
const MAX_NAME = 120;
const MAX_LEG = 60;

function shorten(name: string, most: number): string {
  return name.length <= most ? name : distinguished(name, name, most);
}

/** Names that are cut or cleaned alike must not fall together. */
function distinguished(name: string, original: string, most: number): string {
  const hash = createHash("sha256").update(original).digest("hex").slice(0, 8);
  return name === "" ? hash : `${name.slice(0, most - 9)}-${hash}`;
}

/** A name the service accepts: forbidden characters become `-`, long names are cut and distinguished by a hash. */
export function safeArtifactName(name: string): string {
  const safe = name.replace(FORBIDDEN, "-").replace(/\s+/g, " ").trim();
  return shorten(safe === "" || /^\.+$/.test(safe) ? "stormlog" : safe, MAX_NAME);
}

/**
 * Leg of a matrix from `toJSON(matrix)`: `{"os": "linux", "torch": "2.5"}` is `linux-2.5`, and values with other
 * characters end in a hash. Null without a matrix (`null`).
 * @returns undefined for what is not a matrix
 */
export function matrixLeg(json: string): string | null | undefined {
  let matrix: unknown;
  try {
    matrix = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (matrix === null) return null;
  if (typeof matrix !== "object" || Array.isArray(matrix)) return undefined;
  const values = Object.values(matrix).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  if (values.length === 0) return null;
  const words = values.map((value) => value.replace(/[^A-Za-z0-9._]+/g, "-").replace(/^-+|-+$/g, ""));
  const leg = words.filter((word) => word !== "").join("-");
  const isPlain = words.every((word, i) => word === values[i] && word !== "");
  return isPlain ? shorten(leg, MAX_LEG) : distinguished(leg, JSON.stringify(values), MAX_LEG);
}

/** Names to try in order: a re-run, or a second job without the `matrix` input, meets its own immutable artifact. */
export function artifactNames(name: string, runAttempt: number): readonly string[] {
  const safe = safeArtifactName(name);
  const attempt = runAttempt > 1 ? [`${safe}-attempt-${runAttempt}`] : [];
  return [safe, ...attempt, ...[2, 3, 4].map((n) => `${attempt[0] ?? safe}-${n}`)];
}
