import { copyFileSync, mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { buildInto } from "../../../scripts/build.mjs";
import { packageRoot } from "../../../src/core/package-root.ts";

export interface InstalledGate {
  /** To be put on PATH: has `stormlog-gate`, as an installation from npm has. */
  readonly bin: string;
}

/** The gate as built from the sources of now, installed into `directory`: jobs start it by its name, many times at once. */
export async function installGate(directory: string): Promise<InstalledGate> {
  const dist = path.join(directory, "dist");
  await buildInto(dist, { cli: "src/cli/main.ts", guard: "src/measure/guard/main.ts" });
  copyFileSync(path.join(packageRoot(), "package.json"), path.join(directory, "package.json"));
  symlinkSync(path.join(packageRoot(), "dist", "prebuilds"), path.join(dist, "prebuilds"));
  const bin = path.join(directory, "bin");
  mkdirSync(bin);
  symlinkSync(path.join(dist, "cli.js"), path.join(bin, "stormlog-gate"));
  return { bin };
}
