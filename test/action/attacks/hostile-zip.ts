import { crc32, deflateRawSync } from "node:zlib";

/** One entry of an archive, with false statements about it. */
export interface HostileEntry {
  readonly name: string | Buffer;
  readonly content: Uint8Array;
  readonly method?: number;
  readonly flags?: number;
  /** Unix mode, in the external attributes. */
  readonly mode?: number;
  /** False values for the directory. */
  readonly saysBytes?: number;
  readonly saysPacked?: number;
  readonly saysCrc?: number;
  readonly saysOffset?: number;
  readonly localName?: string;
  readonly extra?: Buffer;
}

export interface HostileArchive {
  readonly prefix?: Buffer;
  readonly suffix?: Buffer;
  readonly comment?: Buffer;
  /** Number of entries the end of the archive claims. */
  readonly saysEntries?: number;
  readonly saysDirectoryOffset?: number;
}

function u16(...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 2);
  for (const [at, value] of values.entries()) buffer.writeUInt16LE(value & 0xffff, at * 2);
  return buffer;
}

function u32(...values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 4);
  for (const [at, value] of values.entries()) buffer.writeUInt32LE(value >>> 0, at * 4);
  return buffer;
}

/** A zip archive, byte by byte: archivers refuse to make what attackers make. */
export function zip(entries: readonly HostileEntry[], archive: HostileArchive = {}): Buffer {
  const parts: Buffer[] = [archive.prefix ?? Buffer.alloc(0)];
  const directory: Buffer[] = [];
  let offset = parts[0]?.length ?? 0;
  for (const entry of entries) {
    const { method = 8, flags = 0, mode = 0o100644, extra = Buffer.alloc(0) } = entry;
    const name = Buffer.from(entry.name as string);
    const localName = Buffer.from(entry.localName ?? name);
    const content = Buffer.from(entry.content);
    const packed = method === 8 ? deflateRawSync(content, { level: 9 }) : content;
    const crc = entry.saysCrc ?? crc32(content);
    const sizes = [entry.saysPacked ?? packed.length, entry.saysBytes ?? content.length];
    const local = Buffer.concat([
      u32(0x04034b50),
      u16(20, flags, method, 0, 0),
      u32(crc, ...sizes),
      u16(localName.length, 0),
      localName,
      packed,
    ]);
    directory.push(
      u32(0x02014b50),
      u16((3 << 8) | 20, 20, flags, method, 0, 0),
      u32(crc, ...sizes),
      u16(name.length, extra.length, 0, 0, 0),
      u32(mode << 16, entry.saysOffset ?? offset),
      name,
      extra,
    );
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const count = archive.saysEntries ?? entries.length;
  const comment = archive.comment ?? Buffer.alloc(0);
  const end = Buffer.concat([
    u32(0x06054b50),
    u16(0, 0, count, count),
    u32(central.length, archive.saysDirectoryOffset ?? offset),
    u16(comment.length),
    comment,
  ]);
  return Buffer.concat([...parts, central, end, archive.suffix ?? Buffer.alloc(0)]);
}
