import { setFlagsFromString } from "node:v8";
import { GateError } from "../../core/errors.ts";
import { readAsset } from "../drawing/assets.ts";
import type { ThemeName } from "../drawing/palette.ts";
import type { Timeline } from "../model/gate-report.ts";
import { renderTimelineSvg } from "./timeline-svg.ts";

let engine: Promise<typeof import("@resvg/resvg-wasm")> | undefined;

/** Node's own, which TypeScript declares for browsers alone. */
const { WebAssembly: wasm } = globalThis as unknown as {
  WebAssembly: { Memory: new (limits: { initial: number }) => { grow(pages: number): number } };
};

/** A picture cannot be drawn on this machine; everything else can be written. */
export const PICTURE_UNAVAILABLE = "PICTURE_UNAVAILABLE";

/**
 * A limit on the address space (`ulimit -v`) leaves no room for the ten gigabytes that each WebAssembly module
 * reserves. From the sources two are needed: the engine asks for `Response`, with which Node loads the one of its HTTP
 * parser, and if that fails the process ends (`scripts/build.mjs` takes the question out).
 */
function checkAddressSpace(): void {
  try {
    for (const memory of [1, 2].map(() => new wasm.Memory({ initial: 1 }))) memory.grow(0);
  } catch (cause) {
    throw new GateError(
      PICTURE_UNAVAILABLE,
      "the timeline could not be drawn as a picture: the address space is limited",
      { hint: "Raise the limit (ulimit -v). The interactive timeline is complete.", cause },
    );
  }
}

/**
 * Loaded once per process, because that takes longer than drawing a picture. V8 would spend another second of processor
 * time on optimising it for the few pictures of a process.
 */
async function loadEngine(): Promise<typeof import("@resvg/resvg-wasm")> {
  checkAddressSpace();
  setFlagsFromString("--liftoff-only");
  const resvg = await import("@resvg/resvg-wasm");
  await resvg.initWasm(new Uint8Array(readAsset("index_bg.wasm")));
  return resvg;
}

/**
 * A timeline as a PNG 1200 pixels wide, drawn without a browser or system fonts.
 * @throws GateError ASSET_MISSING, PICTURE_UNAVAILABLE
 */
export async function renderTimelinePng(timeline: Timeline, theme: ThemeName = "light"): Promise<Uint8Array> {
  return svgToPng(renderTimelineSvg(timeline, theme));
}

/** An SVG document as a PNG of the same size, in the shipped font; throws as {@link renderTimelinePng}. */
export async function svgToPng(svg: string): Promise<Uint8Array> {
  engine ??= loadEngine();
  const { Resvg } = await engine;
  const picture = new Resvg(svg, {
    font: { fontBuffers: [readAsset("dejavu-sans-subset.ttf")], defaultFontFamily: "DejaVu Sans" },
  });
  try {
    const image = picture.render();
    try {
      return image.asPng();
    } finally {
      image.free();
    }
  } finally {
    picture.free();
  }
}
