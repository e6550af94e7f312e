import { crc32, inflateSync } from "node:zlib";

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue of one pixel. */
  at(x: number, y: number): readonly [number, number, number];
}

/** Read an 8-bit indexed PNG without row filters, with all checksums verified; throws on any other file. */
export function decodeIndexedPng(png: Uint8Array): Picture {
  const bytes = Buffer.from(png);
  if (bytes.toString("latin1", 1, 4) !== "PNG") throw new Error("not a PNG");
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    if (bytes.readUInt32BE(at + 8 + length) !== crc32(bytes.subarray(at + 4, at + 8 + length))) {
      throw new Error(`checksum of ${type}`);
    }
    chunks.set(type, bytes.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const header = chunks.get("IHDR")!;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  if (header[8] !== 8 || header[9] !== 3) throw new Error("not 8-bit indexed");
  const palette = chunks.get("PLTE")!;
  const rows = inflateSync(chunks.get("IDAT")!);
  if (rows.length !== (width + 1) * height) throw new Error("wrong number of pixels");
  return {
    width,
    height,
    at: (x, y) => {
      if (rows[y * (width + 1)] !== 0) throw new Error("filtered row");
      const index = 3 * rows[y * (width + 1) + 1 + x]!;
      if (index + 2 >= palette.length) throw new Error("colour outside the palette");
      return [palette[index]!, palette[index + 1]!, palette[index + 2]!];
    },
  };
}
