import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { GateError, messageOf } from "../core/errors.ts";
import { makeDirectories, withoutLinks } from "../core/files.ts";
import type { Environment } from "../core/process/environment.ts";

/** A directory of this step's own; a second step of the job under the same name gets the next number. */
export function freeBundleDirectory(env: Environment, name: string): string {
  const parent = withoutLinks(path.resolve(env.RUNNER_TEMP || tmpdir(), "stormlog"));
  try {
    makeDirectories(parent);
  } catch (cause) {
    throw new GateError("RUNNER_TEMP_UNWRITABLE", `no directory can be made in RUNNER_TEMP: ${messageOf(cause)}`, {
      where: parent,
      hint: "RUNNER_TEMP has to name a directory that the runner's user may write.",
      cause,
    });
  }
  for (let n = 1; ; n += 1) {
    const candidate = path.join(parent, n === 1 ? name : `${name}-${n}`);
    if (!existsSync(candidate)) return candidate;
  }
}
