import { PEAK_FLOOR_BYTES } from "../verdict/defaults.ts";

/** Metrics that a budget or `policy.gating` can name: those that are judged. */
export const JUDGED_METRICS = Object.keys(PEAK_FLOOR_BYTES) as readonly (keyof typeof PEAK_FLOOR_BYTES)[];
