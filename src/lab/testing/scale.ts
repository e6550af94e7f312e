import type { ScaleDocument, ScaleProbe } from "../report/scale-document.ts";

/** A size at which the leak was seen. */
export const PROBE: ScaleProbe = {
  value: 26,
  steps: 26,
  visible: true,
  leaky: "fail",
  fixed: "pass",
  check: { aspect: "peak", metric: "allocated", device: "host" },
  excess_bytes: 2.5 * 1024 ** 2,
  mde_bytes: 2 * 1024 ** 2,
  growth_bytes: 3 * 1024 ** 2,
  slope_bytes_per_step: 128 * 1024,
  class: "flat",
  baseline: 39,
  runs: 4,
  seconds: 12.3,
  bundle: "probes/26",
};

/** The document of a search that found a boundary between 21 and 26 steps. */
export function scaleDocument(more: Partial<ScaleDocument> = {}): ScaleDocument {
  const silent = { ...PROBE, value: 21, steps: 21, visible: false, leaky: "pass", fixed: null } as const;
  return {
    schema: "stormlog.lab-scale/1",
    generated_at_utc: "2026-01-01T00:00:00.000Z",
    pattern: "a_pattern",
    title: "A title",
    by: "steps",
    from: 4,
    to: 10_240,
    factor: 1.25,
    scale: "tiny",
    steps: null,
    batch: null,
    backend: "cpu",
    device_model: "a model",
    framework_version: null,
    probes: [
      { ...PROBE, value: 39, steps: 39, excess_bytes: 4 * 1024 ** 2, bundle: null },
      PROBE,
      { ...silent, excess_bytes: 1.5 * 1024 ** 2, bundle: "probes/21" },
    ],
    answer: { kind: "visible", at: 26, below: 21, excess_bytes: 2.5 * 1024 ** 2, mde_bytes: 2 * 1024 ** 2 },
    ...more,
  };
}
