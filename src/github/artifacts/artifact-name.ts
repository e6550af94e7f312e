import { createHash } from "node:crypto";

/** What the artifact service refuses in a name, plus control characters. */
const FORBIDDEN = /["<>|*?\\/:\u0000-\u001f\u007f-\u009f]/g;
const MAX_NAME = 120;
const MAX_LEG = 60;

function shorten(name: string, most: number): string {
  if (name.length <= most) return name;
  // Two long legs must not fall together when they are cut.
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${name.slice(0, most - 9)}-${hash}`;
}

/** A name the service accepts: forbidden characters become `-`, long names are cut and distinguished by a hash. */
export function safeArtifactName(name: string): string {
  const safe = name.replace(FORBIDDEN, "-").replace(/\s+/g, " ").trim();
  return shorten(safe === "" || /^\.+$/.test(safe) ? "stormlog" : safe, MAX_NAME);
}

/** Leg of a matrix from `toJSON(matrix)`: `{"os": "linux", "torch": "2.5"}` is `linux-2.5`. Null without a matrix. */
export function matrixLeg(json: string): string | null {
  let matrix: unknown;
  try {
    matrix = JSON.parse(json);
  } catch {
    return null;
  }
  if (typeof matrix !== "object" || matrix === null || Array.isArray(matrix)) return null;
  const words = Object.values(matrix).map((value) =>
    (typeof value === "string" ? value : JSON.stringify(value))
      .replace(/[^A-Za-z0-9._]+/g, "-")
      .replace(/^-+|-+$/g, ""),
  );
  const leg = words.filter((word) => word !== "").join("-");
  return leg === "" ? null : shorten(leg, MAX_LEG);
}

/** Names to try in order: a re-run, or a second job without the `matrix` input, meets its own immutable artifact. */
export function artifactNames(name: string, runAttempt: number): readonly string[] {
  const safe = safeArtifactName(name);
  const attempt = runAttempt > 1 ? [`${safe}-attempt-${runAttempt}`] : [];
  return [safe, ...attempt, ...[2, 3, 4].map((n) => `${attempt[0] ?? safe}-${n}`)];
}
