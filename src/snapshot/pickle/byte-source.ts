/** Bytes read in order, in chunks, so that a file is never in memory as a whole. */
export interface ByteSource {
  /** Length in bytes, known before reading. The memory budget depends on it. */
  readonly size: number;
  /** Fills `target` from its start with the available bytes and returns their number; 0 = the end. */
  readonly read: (target: Uint8Array) => number;
}

/** A source over bytes in memory. */
export function sourceOf(bytes: Uint8Array): ByteSource {
  let offset = 0;
  return {
    size: bytes.length,
    read: (target) => {
      const part = bytes.subarray(offset, offset + target.length);
      target.set(part);
      offset += part.length;
      return part.length;
    },
  };
}
