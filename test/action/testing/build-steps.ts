import { mkdirSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { packageRoot } from "../../../src/core/package-root.ts";

/** Build steps into a directory within the package, so that they find their assets as dist/ does. */
export async function buildSteps(directory: string, entryPoints: Readonly<Record<string, string>>): Promise<string> {
  const outdir = path.join(packageRoot(), "build", directory);
  mkdirSync(outdir, { recursive: true });
  await build({
    absWorkingDir: packageRoot(),
    entryPoints: { ...entryPoints },
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    banner: { js: "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);" },
    logLevel: "error",
  });
  return outdir;
}
