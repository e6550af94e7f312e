import type { Horizon } from "../core/units.ts";
import { DEFAULT_GAP_THRESHOLDS, type GapThresholds } from "./stormlog/gap.ts";

export interface AnalysisOptions {
  /** Production length at which growth is judged; null (the default) = the observed length. */
  readonly horizon?: Horizon | null;
  /** Thresholds of the device-versus-allocator gap findings; Stormlog's defaults if absent. */
  readonly gapThresholds?: Partial<GapThresholds>;
  /** Capacity of every device, bytes, for sources that do not contain it; default null (unknown). */
  readonly deviceCapacityBytes?: number | null;
  /** Phases whose series the document has, for a policy that judges them; default none. */
  readonly phases?: readonly string[];
}

export interface ResolvedOptions {
  readonly horizon: Horizon | null;
  readonly gapThresholds: GapThresholds;
  readonly deviceCapacityBytes: number | null;
  readonly phases: readonly string[];
}

export function resolveOptions(options: AnalysisOptions = {}): ResolvedOptions {
  return {
    horizon: options.horizon ?? null,
    gapThresholds: { ...DEFAULT_GAP_THRESHOLDS, ...options.gapThresholds },
    deviceCapacityBytes: options.deviceCapacityBytes ?? null,
    phases: options.phases ?? [],
  };
}
