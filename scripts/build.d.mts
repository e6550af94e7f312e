/** Directory of dist/ that comes from another build. */
export const KEPT: string;

/** Bytes of JavaScript that one entry loads before it does anything, by where they come from. */
export interface StartSize {
  readonly own: number;
  readonly packages: number;
  /** The packages with most of it: directory and bytes. */
  readonly largest: readonly (readonly [string, number])[];
}

/**
 * Build into a directory.
 * @param outdir absolute
 * @param entries output name without `.js` -> source, relative to the package; default is everything that ships
 * @throws Error when a step of the Action starts with more than it may
 */
export function buildInto(outdir: string, entries?: Record<string, string>): Promise<Record<string, StartSize>>;

/** Directories, relative to the project, of the packages whose code or files dist/ contains. Writes nothing. */
export function shippedPackages(): Promise<readonly string[]>;

/** Modules of this project in each file of the command line, by its path below the project. Writes nothing. */
export function ownModules(): Promise<Readonly<Record<string, readonly string[]>>>;
