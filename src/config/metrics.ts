import { METRIC_SCALES } from "../verdict/defaults.ts";

/** Metrics that a budget or `policy.gating` can name: those that are judged. */
export const JUDGED_METRICS = Object.keys(METRIC_SCALES) as readonly (keyof typeof METRIC_SCALES)[];
