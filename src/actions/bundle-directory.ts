import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Environment } from "../core/environment.ts";

/** A directory of this step's own; a second step of the job under the same name gets the next number. */
export function freeBundleDirectory(env: Environment, name: string): string {
  const parent = path.join(env.RUNNER_TEMP || tmpdir(), "stormlog");
  mkdirSync(parent, { recursive: true });
  for (let n = 1; ; n += 1) {
    const candidate = path.join(parent, n === 1 ? name : `${name}-${n}`);
    if (!existsSync(candidate)) return candidate;
  }
}
