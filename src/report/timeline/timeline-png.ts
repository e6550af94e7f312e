import { readAsset } from "../assets.ts";
import type { Timeline } from "../documents/model.ts";
import { encodeIndexedPng } from "./indexed-png.ts";
import type { ThemeName } from "./palette.ts";
import { renderTimelineSvg } from "./timeline-svg.ts";

let engine: Promise<typeof import("@resvg/resvg-wasm")> | undefined;

/** Loaded once per process, because that takes longer than drawing a picture. */
async function loadEngine(): Promise<typeof import("@resvg/resvg-wasm")> {
  const resvg = await import("@resvg/resvg-wasm");
  await resvg.initWasm(new Uint8Array(readAsset("index_bg.wasm")));
  return resvg;
}

/** A timeline as a PNG 1200 pixels wide, drawn without a browser or system fonts; throws ASSET_MISSING. */
export async function renderTimelinePng(timeline: Timeline, theme: ThemeName = "light"): Promise<Uint8Array> {
  return svgToPng(renderTimelineSvg(timeline, theme));
}

/** An SVG document as an indexed PNG of the same size, in the shipped font; throws ASSET_MISSING. */
export async function svgToPng(svg: string): Promise<Uint8Array> {
  engine ??= loadEngine();
  const { Resvg } = await engine;
  const picture = new Resvg(svg, {
    font: { fontBuffers: [readAsset("dejavu-sans-subset.ttf")], defaultFontFamily: "DejaVu Sans" },
  });
  try {
    const image = picture.render();
    try {
      return encodeIndexedPng(image.pixels, image.width, image.height);
    } finally {
      image.free();
    }
  } finally {
    picture.free();
  }
}
