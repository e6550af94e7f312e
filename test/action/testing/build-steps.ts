import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import path from "node:path";
import { buildInto } from "../../../scripts/build.mjs";
import { packageRoot } from "../../../src/core/package-root.ts";

/** Everything that is shipped, and the step around a prepared engine. */
const ENTRIES = {
  cli: "src/cli/start.ts",
  "action/main": "src/actions/gate/main.ts",
  "action/report": "src/actions/report/main.ts",
  "action/merge": "src/actions/merge/main.ts",
  "action/refresh": "src/actions/refresh/main.ts",
  "action/accept": "src/actions/accept/main.ts",
  "action/prepared": "test/action/testing/prepared-main.ts",
};

/** Files that a build depends on. */
const SOURCES = ["src", "probe", "scripts/build.mjs", "package-lock.json", "test/action/testing/prepared-main.ts"];
/** A run of all tests takes minutes, so that no run uses an older build of other sources. */
const STALE_MS = 3_600_000;

function filesOf(source: string): readonly string[] {
  if (!statSync(source).isDirectory()) return [source];
  return readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.ts$|\.pyc$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
}

function digest(root: string): string {
  const hash = createHash("sha256");
  for (const file of SOURCES.flatMap((source) => filesOf(path.join(root, source)))) {
    hash
      .update(`${path.relative(root, file)}\0`)
      .update(readFileSync(file))
      .update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}

function removeStale(directory: string, current: string): void {
  for (const name of readdirSync(directory)) {
    const old = path.join(directory, name);
    const age = Date.now() - (statSync(old, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (name !== current && age > STALE_MS) rmSync(old, { recursive: true, force: true });
  }
}

/**
 * Directory with the project as it is built from the sources now, laid out as `dist/`. All test files share one build:
 * it lies within the package, so that the steps find their package directory as `dist/` does, and is built aside and
 * renamed, so that a second worker never sees half of it.
 */
export async function builtSteps(): Promise<string> {
  const root = packageRoot();
  const cache = path.join(root, "build", "test-steps");
  mkdirSync(cache, { recursive: true });
  const name = digest(root);
  const target = path.join(cache, name);
  if (existsSync(target)) return target;
  removeStale(cache, name);
  const work = mkdtempSync(path.join(cache, "build-"));
  await buildInto(work, ENTRIES);
  // Steps also run as another user.
  chmodSync(work, 0o755);
  try {
    renameSync(work, target);
  } catch (error) {
    rmSync(work, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return target;
}
