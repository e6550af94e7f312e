import { wilsonInterval } from "../shared/wilson.ts";

/** Hits among tries. */
export interface Share {
  readonly hits: number;
  readonly of: number;
}

const percent = (share: number): string => {
  const value = 100 * share;
  return value >= 10 || value === 0 ? value.toFixed(value % 1 === 0 ? 0 : 1) : value.toFixed(2);
};

/** `12.3 % (37 of 300; 9.1 to 16.5)`. */
export function describeShare({ hits, of }: Share): string {
  if (of === 0) return "no case";
  const [low, high] = wilsonInterval({ hits, tries: of });
  return `${percent(hits / of)} % (${hits} of ${of}; ${percent(low)} to ${percent(high)})`;
}

/** `12.3 %`. */
export const shortShare = ({ hits, of }: Share): string => (of === 0 ? "–" : `${percent(hits / of)} %`);

/** Counts hits by name. */
export class Tally {
  readonly #counts = new Map<string, { hits: number; of: number }>();

  add(name: string, hit: boolean): void {
    const entry = this.#counts.get(name) ?? { hits: 0, of: 0 };
    entry.hits += Number(hit);
    entry.of += 1;
    this.#counts.set(name, entry);
  }

  get(name: string): Share {
    return this.#counts.get(name) ?? { hits: 0, of: 0 };
  }
}
