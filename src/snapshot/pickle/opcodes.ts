/** Opcodes of pickle protocols 2 to 5 for plain data (CPython's pickletools.py; 3.14 writes no others). */
export const Op = {
  MARK: 0x28,
  EMPTY_TUPLE: 0x29,
  STOP: 0x2e,
  BINFLOAT: 0x47,
  BININT: 0x4a,
  BININT1: 0x4b,
  BININT2: 0x4d,
  NONE: 0x4e,
  BINUNICODE: 0x58,
  EMPTY_LIST: 0x5d,
  APPEND: 0x61,
  APPENDS: 0x65,
  BINGET: 0x68,
  LONG_BINGET: 0x6a,
  BINPUT: 0x71,
  LONG_BINPUT: 0x72,
  SETITEM: 0x73,
  TUPLE: 0x74,
  SETITEMS: 0x75,
  EMPTY_DICT: 0x7d,
  PROTO: 0x80,
  TUPLE1: 0x85,
  TUPLE2: 0x86,
  TUPLE3: 0x87,
  NEWTRUE: 0x88,
  NEWFALSE: 0x89,
  LONG1: 0x8a,
  LONG4: 0x8b,
  SHORT_BINUNICODE: 0x8c,
  BINUNICODE8: 0x8d,
  MEMOIZE: 0x94,
  FRAME: 0x95,
} as const;

/** Opcodes that load code, call it or fetch objects from elsewhere. */
const CONSTRUCTING: Readonly<Record<number, string>> = {
  80: "PERSID",
  81: "BINPERSID",
  82: "REDUCE",
  98: "BUILD",
  99: "GLOBAL",
  105: "INST",
  111: "OBJ",
  129: "NEWOBJ",
  130: "EXT1",
  131: "EXT2",
  132: "EXT4",
  146: "NEWOBJ_EX",
  147: "STACK_GLOBAL",
  151: "NEXT_BUFFER",
  152: "READONLY_BUFFER",
};

/** Harmless opcodes that snapshots do not contain: text forms of protocol 0, byte strings, sets, stack manipulation. */
const FOREIGN: Readonly<Record<number, string>> = {
  48: "POP",
  49: "POP_MARK",
  50: "DUP",
  66: "BINBYTES",
  67: "SHORT_BINBYTES",
  70: "FLOAT",
  73: "INT",
  76: "LONG",
  83: "STRING",
  84: "BINSTRING",
  85: "SHORT_BINSTRING",
  86: "UNICODE",
  100: "DICT",
  103: "GET",
  108: "LIST",
  112: "PUT",
  142: "BINBYTES8",
  143: "EMPTY_SET",
  144: "ADDITEMS",
  145: "FROZENSET",
  150: "BYTEARRAY8",
};

/** Name of a rejected opcode; null for a byte that is not an opcode. */
export function refusedOpcode(code: number): { readonly name: string; readonly constructs: boolean } | null {
  const constructing = CONSTRUCTING[code];
  if (constructing !== undefined) return { name: constructing, constructs: true };
  const foreign = FOREIGN[code];
  return foreign === undefined ? null : { name: foreign, constructs: false };
}
