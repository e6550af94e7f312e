import { closeSync, readSync } from "node:fs";
import { openRegular } from "../../core/files.ts";

/** Tables of symbols beyond this size are not read, bytes. */
const MAX_TABLE_BYTES = 64 * 1024 * 1024;
const MAX_SECTIONS = 4096;
const ELF = {
  symbolTable: 2,
  dynamicSymbols: 11,
  load: 1,
  interpreter: 3,
  note: 4,
  function: 2,
  symbolBytes: 24,
} as const;

interface ElfSection {
  readonly type: number;
  readonly offset: number;
  readonly size: number;
  readonly link: number;
}

/** Functions of one ELF file (64 bits, little-endian), by the names in its tables of symbols. */
export interface ElfSymbols {
  /** The address of a place in the file as its tables count it; null outside of what is loaded. */
  readonly addressOf: (offset: number) => number | null;
  /** The function that contains the address, as the linker names it; null where no symbol covers it. */
  readonly functionAt: (address: number) => string | null;
}

/** Read the tables of symbols of a file; null when it is not such a file. Damaged tables name nothing. */
export const readElfSymbols = (path: string): ElfSymbols | null => readElf(path, symbolsOf);

/** The loader that a program names: "" where it is linked statically; null when it is not such a file. */
export const readElfInterpreter = (path: string): string | null => readElf(path, interpreterOf);

/** Whether Go's linker made the program: the note with its build ID is named "Go". */
export const isGo = (path: string): boolean => readElf(path, hasGoNote) === true;

function readElf<T>(path: string, parse: (read: Read, head: Buffer) => T): T | null {
  let fd: number;
  try {
    ({ fd } = openRegular(path));
  } catch {
    return null;
  }
  try {
    const read: Read = (offset, size) => {
      const bytes = Buffer.alloc(size);
      return readSync(fd, bytes, 0, size, offset) === size ? bytes : null;
    };
    const head = read(0, 64);
    return head?.toString("latin1", 0, 6) === "\x7fELF\x02\x01" ? parse(read, head) : null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  } finally {
    closeSync(fd);
  }
}

type Read = (offset: number, size: number) => Buffer | null;

const word = (bytes: Buffer, at: number): number => Number(bytes.readBigUInt64LE(at));

interface ElfSegment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/** Field offsets from "Tool Interface Standard: ELF-64 Object File Format", version 1.5. */
function segmentsOf(read: Read, head: Buffer): readonly ElfSegment[] {
  const count = Math.min(head.readUInt16LE(56), MAX_SECTIONS);
  const bytes = read(word(head, 32), 56 * count);
  if (bytes === null) return [];
  return Array.from({ length: count }, (_, index) => {
    const at = 56 * index;
    const [offset, address, size] = [word(bytes, at + 8), word(bytes, at + 16), word(bytes, at + 32)];
    return { type: bytes.readUInt32LE(at), offset, address, size };
  });
}

function interpreterOf(read: Read, head: Buffer): string {
  const named = segmentsOf(read, head).find(({ type }) => type === ELF.interpreter);
  return named === undefined ? "" : (read(named.offset, Math.min(named.size, 4096))?.toString() ?? "");
}

function hasGoNote(read: Read, head: Buffer): boolean {
  return segmentsOf(read, head).some(
    ({ type, offset, size }) => type === ELF.note && read(offset, Math.min(size, 4096))?.includes("\0Go\0\0") === true,
  );
}

function symbolsOf(read: Read, head: Buffer): ElfSymbols {
  const loads = segmentsOf(read, head).filter(({ type }) => type === ELF.load);
  const sections = sectionsOf(read, head);
  const table =
    sections.find(({ type }) => type === ELF.symbolTable) ?? sections.find(({ type }) => type === ELF.dynamicSymbols);
  const names = table === undefined ? undefined : sections[table.link];
  const symbols = bounded(read, table);
  const text = bounded(read, names);
  return {
    addressOf: (offset) => {
      const load = loads.find((one) => offset >= one.offset && offset < one.offset + one.size);
      return load === undefined ? null : offset - load.offset + load.address;
    },
    functionAt: (address) => (symbols === null || text === null ? null : functionIn(symbols, text, address)),
  };
}

function sectionsOf(read: Read, head: Buffer): readonly ElfSection[] {
  const count = Math.min(head.readUInt16LE(60), MAX_SECTIONS);
  const bytes = read(word(head, 40), 64 * count);
  if (bytes === null) return [];
  return Array.from({ length: count }, (_, index) => {
    const at = 64 * index;
    const [offset, size] = [word(bytes, at + 24), word(bytes, at + 32)];
    return { type: bytes.readUInt32LE(at + 4), offset, size, link: bytes.readUInt32LE(at + 40) };
  });
}

function bounded(read: Read, section: ElfSection | undefined): Buffer | null {
  return section === undefined || section.size > MAX_TABLE_BYTES ? null : read(section.offset, section.size);
}

function functionIn(symbols: Buffer, text: Buffer, address: number): string | null {
  for (let at = 0; at + ELF.symbolBytes <= symbols.length; at += ELF.symbolBytes) {
    if ((symbols.readUInt8(at + 4) & 0xf) !== ELF.function) continue;
    const start = word(symbols, at + 8);
    if (address < start || address >= start + word(symbols, at + 16)) continue;
    const name = symbols.readUInt32LE(at);
    const end = text.indexOf(0, name);
    return end > name ? text.toString("utf8", name, end) : null;
  }
  return null;
}
