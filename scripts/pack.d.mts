/** A bundled chunk, as an ES module. */
export interface PackedChunk {
  /** Ends with the name by which other chunks import it. */
  readonly path: string;
  readonly text: string;
}

/** The pack's name below dist/. */
export const PACK: string;

export function sha256(data: string | Uint8Array): string;

/**
 * A JavaScript file of all chunks, with an index in its first line.
 * @param files SHA-256 of other files of `dist/`
 */
export function packChunks(outputs: readonly PackedChunk[], files: Readonly<Record<string, string>>): Promise<string>;
