import { readFileSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../../core/package-root.ts";

/** `actions/checkout` as the written workflows use it: a commit cannot be moved, a tag can. */
export const CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1";

/** The major version's tag, for a package that does not know its own commit. */
const MOVING_TAG = "v1 # zizmor: ignore[unpinned-uses] replace v1 with the commit of a release to pin it";

/** Version after `stormlog/gate@`: the released commit of `dist/release.json`, or the moving tag in other builds. */
export function ownPin(root: string = packageRoot()): string {
  let release: unknown;
  try {
    release = JSON.parse(readFileSync(path.join(root, "dist", "release.json"), "utf8"));
  } catch {
    return MOVING_TAG;
  }
  if (typeof release !== "object" || release === null) return MOVING_TAG;
  const { commit, version } = release as Readonly<Record<string, unknown>>;
  if (typeof commit !== "string" || !/^[0-9a-f]{40}$/.test(commit)) return MOVING_TAG;
  return typeof version === "string" && /^\d+\.\d+\.\d+$/.test(version) ? `${commit} # v${version}` : commit;
}
