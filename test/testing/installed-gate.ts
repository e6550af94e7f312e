import { copyFileSync, mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { buildInto } from "../../scripts/build.mjs";
import { packageRoot } from "../../src/core/package-root.ts";

export interface InstalledGate {
  /** A directory for PATH: it contains `stormlog-gate`, as an installation from npm does. */
  readonly bin: string;
  readonly cli: string;
}

/** Build the gate from the sources and install it into `directory`: a build starts faster than the sources do. */
export async function installGate(directory: string): Promise<InstalledGate> {
  const dist = path.join(directory, "dist");
  await buildInto(dist, {
    cli: "src/cli/start.ts",
  });
  copyFileSync(path.join(packageRoot(), "package.json"), path.join(directory, "package.json"));
  symlinkSync(path.join(packageRoot(), "dist", "prebuilds"), path.join(dist, "prebuilds"));
  symlinkSync(path.join(packageRoot(), "leak-lab"), path.join(directory, "leak-lab"));
  const bin = path.join(directory, "bin");
  mkdirSync(bin);
  symlinkSync(path.join(dist, "cli.js"), path.join(bin, "stormlog-gate"));
  return { bin, cli: path.join(dist, "cli.js") };
}
