import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { GateError } from "../../core/errors.ts";
import { packageRoot } from "../../core/package-root.ts";

/** Files the reports are made with: a build copies them into `dist/assets`, a source checkout reads them in place. */
const SOURCES = {
  "dejavu-sans-subset.ttf": { own: true },
  "timeline-page.css": { own: true },
  "timeline-viewer.js": { own: true },
  "index_bg.wasm": { own: false, module: "@resvg/resvg-wasm/index_bg.wasm" },
  "uPlot.iife.min.js": { own: false, module: "uplot/dist/uPlot.iife.min.js" },
  "uPlot.min.css": { own: false, module: "uplot/dist/uPlot.min.css" },
} as const;

type AssetName = keyof typeof SOURCES;

const cache = new Map<AssetName, Buffer>();

/** The bytes of a shipped file, read once; throws ASSET_MISSING when the installation is incomplete. */
export function readAsset(name: AssetName): Buffer {
  const known = cache.get(name);
  if (known !== undefined) return known;
  let bytes: Buffer;
  try {
    bytes = readFileSync(assetPath(name));
  } catch (cause) {
    throw new GateError("ASSET_MISSING", `cannot read ${name}, a file of this package`, {
      where: path.join(packageRoot(), "dist", "assets"),
      hint: "Reinstall stormlog-gate.",
      cause,
    });
  }
  cache.set(name, bytes);
  return bytes;
}

function assetPath(name: AssetName): string {
  const built = path.join(packageRoot(), "dist", "assets", name);
  const source = SOURCES[name];
  const own = path.join(packageRoot(), "src", "report", "timeline", "assets", name);
  if (source.own) return existsSync(own) ? own : built;
  if (existsSync(built)) return built;
  return createRequire(path.join(packageRoot(), "package.json")).resolve(source.module);
}
