import { Op } from "../pickle/opcodes.ts";

/** A whole number from 0 to below `limit`. */
export type Chance = (limit: number) => number;

/** Mulberry32: a small seeded generator. */
export function chance(seed: number): Chance {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

const OPCODES = Object.values(Op);
const EXTREMES = [0, 1, 0x7f, 0x80, 0xff];

type Mutation = (bytes: Bytes, random: Chance, corpus: readonly Uint8Array[]) => Bytes;
type Bytes = Uint8Array<ArrayBuffer>;

function joined(...parts: readonly Uint8Array[]): Bytes {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function piece(bytes: Uint8Array, random: Chance): Uint8Array {
  const from = random(bytes.length);
  return bytes.subarray(from, from + 1 + random(64));
}

const MUTATIONS: readonly Mutation[] = [
  function flipBit(bytes, random) {
    const at = random(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
    return bytes;
  },
  function setByte(bytes, random) {
    bytes[random(bytes.length)] = random(256);
    return bytes;
  },
  function setExtreme(bytes, random) {
    const at = random(bytes.length);
    bytes.fill(EXTREMES[random(EXTREMES.length)] ?? 0, at, at + 1 + random(8));
    return bytes;
  },
  function setOpcode(bytes, random) {
    bytes[random(bytes.length)] = OPCODES[random(OPCODES.length)] ?? 0;
    return bytes;
  },
  function insertOpcodes(bytes, random) {
    const at = random(bytes.length);
    const fresh = Uint8Array.from({ length: 1 + random(6) }, () => OPCODES[random(OPCODES.length)] ?? 0);
    return joined(bytes.subarray(0, at), fresh, bytes.subarray(at));
  },
  function remove(bytes, random) {
    const at = random(bytes.length);
    return joined(bytes.subarray(0, at), bytes.subarray(at + 1 + random(32)));
  },
  function repeat(bytes, random) {
    const at = random(bytes.length);
    const part = piece(bytes, random);
    return joined(bytes.subarray(0, at), ...Array.from({ length: 1 + random(16) }, () => part), bytes.subarray(at));
  },
  function splice(bytes, random, corpus) {
    const other = corpus[random(corpus.length)] ?? bytes;
    return joined(bytes.subarray(0, random(bytes.length)), other.subarray(random(other.length)));
  },
  function move(bytes, random) {
    const part = piece(bytes, random).slice();
    bytes.set(
      part.subarray(0, Math.max(0, bytes.length - part.length)),
      random(Math.max(1, bytes.length - part.length)),
    );
    return bytes;
  },
  function cut(bytes, random) {
    return bytes.subarray(0, 1 + random(bytes.length));
  },
];

/** A file of the corpus with one to four changes, most often one. */
export function mutated(corpus: readonly Uint8Array[], random: Chance): Uint8Array {
  let bytes: Bytes = new Uint8Array(corpus[random(corpus.length)] ?? [0]);
  for (let changes = 1 + random(2) * random(4); changes > 0 && bytes.length > 0; changes--) {
    const mutation = MUTATIONS[random(MUTATIONS.length)];
    if (mutation !== undefined) bytes = mutation(bytes, random, corpus);
  }
  return bytes;
}
