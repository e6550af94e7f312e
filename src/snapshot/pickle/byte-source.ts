/** Bytes read in order, as many at a time as there is room for: a file of any size never stands in memory as a whole. */
export interface ByteSource {
  /** Length in bytes, known before reading; what may be spent on the content is measured by it. */
  readonly size: number;
  /** Fill `target` from its start as far as bytes are at hand and say how many; 0 = the end. */
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
