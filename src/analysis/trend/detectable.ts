/** Share of leaks of the stated size that are found. */
export const POWER = 0.9;
/**
 * Cost of the comparison of models, as measured (`bench/verdict`, part `minimum`): a leak must not look like a step, a
 * plateau or growth that ended, and autocorrelated noise looks like them more often.
 */
const MODELS_FACTOR = 1.6;
const MODELS_FACTOR_OF_EVIDENCE = 0.1;

/** What limits the detection of growth over the stretch after the warm-up, bytes. */
export interface Limits {
  /** Least growth that is significant. */
  readonly critical: number;
  /** By which growth is underestimated at most, with the probability {@link POWER}. */
  readonly margin: number;
  /** Factor of the margins between models for autocorrelated noise. */
  readonly evidenceFactor: number;
  /** Material growth over the observed span. */
  readonly material: number;
  /** Observed span over the span after the warm-up. */
  readonly unseen: number;
}

/**
 * Minimum detectable growth over the observed span at a power of 0.9: the larger of what the noise and the models
 * allow, and what is material, with the noise of its estimate.
 */
export function detectable({ critical, margin, evidenceFactor, material, unseen }: Limits): number | null {
  if (!Number.isFinite(critical + margin)) return null;
  const models = MODELS_FACTOR + MODELS_FACTOR_OF_EVIDENCE * (evidenceFactor - 1);
  return unseen * Math.max(models * (critical + margin), material + margin);
}
