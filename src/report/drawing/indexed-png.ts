import { crc32, deflateSync } from "node:zlib";

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const PALETTE_SIZE = 256;

/** Groups of colours: four bits of each of the three channels. */
const GROUPS = 4096;

/**
 * Encode opaque RGBA pixels (4 bytes each, rows from the top) as an 8-bit indexed PNG, a third of the size of true
 * colour. The palette is the mean colours of the 256 largest groups of pixels with equal upper four bits per channel;
 * other groups use the nearest. A chart has fewer groups, so no visible difference is lost.
 */
export function encodeIndexedPng(rgba: Uint8Array, width: number, height: number): Uint8Array {
  const groups = new Uint16Array(width * height);
  const counts = new Float64Array(GROUPS);
  const sums = new Float64Array(GROUPS * 3);
  for (let i = 0, pixel = 0; i < rgba.length; i += 4, pixel++) {
    const group = ((rgba[i]! >> 4) << 8) | ((rgba[i + 1]! >> 4) << 4) | (rgba[i + 2]! >> 4);
    groups[pixel] = group;
    counts[group]! += 1;
    for (let channel = 0; channel < 3; channel++) sums[group * 3 + channel]! += rgba[i + channel]!;
  }
  const bySize = Array.from(counts.keys())
    .filter((group) => counts[group]! > 0)
    .sort((a, b) => counts[b]! - counts[a]! || a - b);
  const meanOf = (group: number): number[] => [0, 1, 2].map((channel) => sums[group * 3 + channel]! / counts[group]!);
  const palette = Uint8Array.from(bySize.slice(0, PALETTE_SIZE).flatMap(meanOf), Math.round);
  const indexes = new Uint8Array(GROUPS);
  bySize.forEach((group, i) => {
    indexes[group] = i < PALETTE_SIZE ? i : nearest(palette, meanOf(group));
  });

  // Each row begins with its filter type, which is 0.
  const rows = new Uint8Array((width + 1) * height);
  for (let y = 0, pixel = 0; y < height; y++) {
    for (let x = 1; x <= width; x++, pixel++) rows[y * (width + 1) + x] = indexes[groups[pixel]!]!;
  }
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8);
  header.setUint8(9, 3);
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", new Uint8Array(header.buffer)),
    chunk("PLTE", palette),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", new Uint8Array(0)),
  ]);
}

function nearest(palette: Uint8Array, [red = 0, green = 0, blue = 0]: readonly number[]): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < palette.length; i += 3) {
    const distance = (palette[i]! - red) ** 2 + (palette[i + 1]! - green) ** 2 + (palette[i + 2]! - blue) ** 2;
    if (distance < least) {
      least = distance;
      best = i / 3;
    }
  }
  return best;
}

function chunk(type: string, data: Uint8Array): Buffer {
  const out = Buffer.alloc(12 + data.length);
  out.writeUInt32BE(data.length, 0);
  out.write(type, 4, "latin1");
  out.set(data, 8);
  out.writeUInt32BE(crc32(out.subarray(4, 8 + data.length)), 8 + data.length);
  return out;
}
