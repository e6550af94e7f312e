import type { Horizon } from "../core/units.ts";

export interface AnalysisOptions {
  /** Production length at which growth is judged; null (the default) = the observed length. */
  readonly horizon?: Horizon | null;
  /** Capacity of every device, bytes, for sources that do not contain it; default null (unknown). */
  readonly deviceCapacityBytes?: number | null;
  /** Phases whose series the document has, for a policy that judges them; default none. */
  readonly phases?: readonly string[];
}

export interface ResolvedOptions {
  readonly horizon: Horizon | null;
  readonly deviceCapacityBytes: number | null;
  readonly phases: readonly string[];
}

export function resolveOptions(options: AnalysisOptions = {}): ResolvedOptions {
  return {
    horizon: options.horizon ?? null,
    deviceCapacityBytes: options.deviceCapacityBytes ?? null,
    phases: options.phases ?? [],
  };
}
