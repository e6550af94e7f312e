import { crc32, inflateSync } from "node:zlib";

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue of one pixel. */
  at(x: number, y: number): readonly [number, number, number];
}

/** What each row filter adds to a byte, from its left, upper and upper left neighbours. */
const FILTERS: readonly ((a: number, b: number, c: number) => number)[] = [
  () => 0,
  (a) => a,
  (_, b) => b,
  (a, b) => (a + b) >> 1,
  (a, b, c) => [a, b, c].sort((x, y) => Math.abs(a + b - c - x) - Math.abs(a + b - c - y))[0]!,
];

/** Read an RGBA PNG, with all checksums verified; throws on any other file. */
export function decodePng(png: Uint8Array): Picture {
  const bytes = Buffer.from(png);
  if (bytes.toString("latin1", 1, 4) !== "PNG") throw new Error("not a PNG");
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    if (bytes.readUInt32BE(at + 8 + length) !== crc32(bytes.subarray(at + 4, at + 8 + length))) {
      throw new Error(`checksum of ${type}`);
    }
    chunks.set(type, Buffer.concat([chunks.get(type) ?? Buffer.alloc(0), bytes.subarray(at + 8, at + 8 + length)]));
    at += 12 + length;
  }
  const header = chunks.get("IHDR")!;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  if (header[8] !== 8 || header[9] !== 6) throw new Error("not RGBA of 8 bits");
  const packed = inflateSync(chunks.get("IDAT")!);
  const row = 4 * width;
  if (packed.length !== (row + 1) * height) throw new Error("wrong number of pixels");
  const pixels = new Uint8Array(row * height);
  for (let y = 0; y < height; y++) {
    const filter = FILTERS[packed[y * (row + 1)]!]!;
    for (let x = 0; x < row; x++) {
      const at = y * row + x;
      const [left, up] = [x < 4 ? 0 : pixels[at - 4]!, y === 0 ? 0 : pixels[at - row]!];
      const corner = x < 4 || y === 0 ? 0 : pixels[at - row - 4]!;
      pixels[at] = packed[y * (row + 1) + 1 + x]! + filter(left, up, corner);
    }
  }
  return {
    width,
    height,
    at: (x, y) => {
      const at = row * y + 4 * x;
      return [pixels[at]!, pixels[at + 1]!, pixels[at + 2]!];
    },
  };
}
