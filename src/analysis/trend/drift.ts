import type { Metric } from "../../telemetry/recording/model.ts";
import type { DriftClass } from "../document.ts";
import type { Bins } from "./bins.ts";

/** Trend of a series that can fall. Sizes in bytes, slopes per unit of the axis. */
export interface Drift {
  readonly class: DriftClass;
  readonly slope: number;
  /** 95 %. */
  readonly interval: readonly [number, number] | null;
  /** Smallest total growth over the observed span that is classified as a leak nine times in ten. */
  readonly mde: number | null;
  /** Whether the slope differs from zero at the 1 % level, one-sided. */
  readonly significant: boolean;
}

export interface DriftInput {
  readonly bins: Bins;
  readonly metric: Metric;
  /** Smallest material change, bytes. */
  readonly change: number;
  /** Smallest material growth over the observed span, bytes (smaller than `change` under a long horizon). */
  readonly growth: number;
  /** Axis position where the start of the process ends; null when the recording does not contain the start. */
  readonly startupEnd: number | null;
  /** The axis is training steps, of which a bin may contain several. */
  readonly perStep: boolean;
}

/** Distance on the axis between the first and the last bin. */
export const observedSpan = ({ x, count }: Bins): number => x[count - 1]! - x[0]!;
