import { existsSync } from "node:fs";
import path from "node:path";
import { assertNever, GateError } from "../core/errors.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import { randomId } from "../measure/session/session.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import { labAvailability } from "./availability.ts";
import { labDirectory } from "./catalogue.ts";
import { labEnvironment } from "./report/document.ts";
import { type ScaleAnswer, type ScaleDocument, type ScaleProbe, sightOf } from "./report/scale-document.ts";
import { formatSize } from "./report/scale-text.ts";
import { dropBundles, prepareScaleDirectory, writeScaleDocument } from "./scale-files.ts";
import { type JudgedSize, judgeSize, measureBaseline, probeDirectory, type SizedPattern } from "./scale-run.ts";
import { bracket, nextStep, type SearchBounds, type SearchStep, type Seen } from "./scale-search.ts";
import { LAB_STEPS } from "./scale-size.ts";

/** The pattern to search, and the bounds of its sizes. */
export interface ScaleOptions extends Omit<SizedPattern, "lab"> {
  readonly bounds: SearchBounds;
}

/** Callbacks for the progress of a search. */
export interface ScaleNarrator {
  readonly baseline: (value: number, runs: number) => void;
  readonly probed: (probe: ScaleProbe, number: number) => void;
}

/**
 * A baseline serves sizes down to this fraction of its own size, because the start dominates a program of a few steps.
 * It serves any larger size, because a program without a leak does not grow. Where it grows after all, the fixed state
 * fails, and a baseline is measured at that size.
 */
const BASELINE_REACH = 16;

/** A probe as the search sees it: a warning is not red. */
function seenAt(probe: ScaleProbe): Seen {
  const sight = sightOf(probe);
  return { value: probe.value, sight: sight === "warned" ? "silent" : sight };
}

/** Ends the search with its results so far, for this reason. */
class Stopped extends Error {}

/** The state of one search. */
class SizeSearch {
  readonly #pattern: SizedPattern;
  readonly #bounds: SearchBounds;
  readonly #narrator: ScaleNarrator;
  readonly #ports: GatePorts;
  readonly #baselines: number[] = [];
  readonly probes: ScaleProbe[] = [];
  fingerprint: Fingerprint = {};
  /** The size that is being judged, whose bundles are incomplete; null between two sizes. */
  #judging: number | null = null;
  /** The reason of the last size that could not be judged. */
  #unjudged = "";

  constructor(pattern: SizedPattern, bounds: SearchBounds, narrator: ScaleNarrator, ports: GatePorts) {
    this.#pattern = pattern;
    this.#bounds = bounds;
    this.#narrator = narrator;
    this.#ports = ports;
  }

  /** The size of the nearest baseline that serves this size; null when one has to be measured. */
  #served(value: number): number | null {
    const far = (other: number): number => Math.max(other / value, value / other);
    const [nearest] = this.#baselines
      .filter((other) => other <= value * BASELINE_REACH)
      .sort((a, b) => far(a) - far(b));
    return nearest ?? null;
  }

  next(): SearchStep {
    return nextStep(this.probes.map(seenAt), this.#bounds, LAB_STEPS[this.#pattern.setting.scale]);
  }

  async #judged(state: "leaky" | "fixed", value: number, baseline: number): Promise<JudgedSize> {
    const judged = await judgeSize(this.#pattern, state, value, baseline, this.#ports);
    if (this.#ports.interrupt.aborted) throw new Stopped("interrupted");
    if (judged.verdict === "error")
      throw new Stopped(`the ${state} state could not be judged at ${value}: ${judged.reason ?? judged.verdict}`);
    if (state === "fixed" || this.fingerprint.backend === undefined) this.fingerprint = judged.fingerprint;
    return judged;
  }

  /**
   * Judge the leaky state at a size and, where it fails, the fixed one. A fixed state that does not pass by the
   * baseline of another size needs a baseline of this size: it is measured, and both are judged again. A size that
   * still cannot be judged, such as one so short that some runs have no growth, is neither silent nor visible.
   */
  async probe(value: number): Promise<ScaleProbe> {
    this.#judging = value;
    const begun = performance.now();
    let runs = 0;
    let baseline = this.#served(value);
    const measureHere = async (): Promise<number> => {
      this.#narrator.baseline(value, this.#pattern.runs);
      await measureBaseline(this.#pattern, value, this.#ports);
      this.#baselines.push(value);
      runs += this.#pattern.runs;
      return value;
    };
    baseline ??= await measureHere();
    for (;;) {
      const leaky = await this.#judged("leaky", value, baseline);
      const fixed = leaky.verdict === "fail" ? await this.#judged("fixed", value, baseline) : null;
      runs += leaky.runs + (fixed?.runs ?? 0);
      const serves = leaky.verdict !== "unjudged" && fixed?.verdict !== "unjudged" && fixed?.verdict !== "fail";
      if (!serves && baseline !== value) {
        baseline = await measureHere();
        continue;
      }
      if (fixed?.verdict === "fail")
        throw new Stopped(`the fixed state also fails at ${value}, against a baseline of the same size`);
      if (!serves) this.#unjudged = leaky.reason ?? fixed?.reason ?? "";
      const { check, series } = leaky;
      return {
        value,
        steps: value,
        visible: leaky.verdict === "fail" && serves,
        leaky: leaky.verdict,
        fixed: fixed?.verdict ?? null,
        check: check === null ? null : { aspect: check.aspect, metric: check.metric, device: check.device },
        excess_bytes: check?.excess_bytes ?? null,
        mde_bytes: check?.mde_bytes ?? null,
        growth_bytes: series?.growth_bytes ?? null,
        slope_bytes_per_step: series?.slope_bytes_per_step ?? null,
        class: series?.class ?? null,
        baseline,
        runs,
        seconds: (performance.now() - begun) / 1000,
        bundle: probeDirectory(value),
      };
    }
  }

  /** Keep a probe, and only the bundles on both sides of the boundary. */
  async keep(probe: ScaleProbe): Promise<void> {
    this.probes.push(probe);
    this.#judging = null;
    const { silent, visible } = bracket(this.probes.map(seenAt));
    for (const [index, one] of this.probes.entries()) {
      if (one.bundle === null || one.value === silent || one.value === visible) continue;
      await dropBundles(this.#pattern.directory, one.bundle);
      this.probes[index] = { ...one, bundle: null };
    }
    this.#narrator.probed(probe, this.probes.length);
  }

  answer(step: Exclude<SearchStep, { readonly kind: "probe" }>): ScaleAnswer {
    const found = (value: number): Pick<ScaleProbe, "excess_bytes" | "mde_bytes"> => {
      const probe = this.probes.find((one) => one.value === value);
      return { excess_bytes: probe?.excess_bytes ?? null, mde_bytes: probe?.mde_bytes ?? null };
    };
    switch (step.kind) {
      case "visible":
      case "always":
        return { ...step, ...found(step.at) };
      case "never":
        return { ...step, ...found(step.to), extrapolated: null };
      case "unjudged": {
        const sizes = step.values.map(formatSize).join(", ");
        return this.broken(`the gate could not judge it at ${sizes} (${this.#unjudged})`);
      }
      default:
        return assertNever(step);
    }
  }

  broken(reason: string): ScaleAnswer {
    const { silent, visible } = bracket(this.probes.map(seenAt));
    const bundle = this.#judging === null ? null : probeDirectory(this.#judging);
    const left = bundle !== null && existsSync(path.join(this.#pattern.directory, bundle));
    return { kind: "broken", reason, at: visible, below: silent, bundle: left ? bundle : null };
  }

  async #interrupted(): Promise<ScaleAnswer> {
    if (this.#judging !== null) await dropBundles(this.#pattern.directory, probeDirectory(this.#judging));
    return this.broken("interrupted");
  }

  /** Search until there is an answer, or a reason without one. */
  async run(): Promise<ScaleAnswer> {
    try {
      for (;;) {
        if (this.#ports.interrupt.aborted) return await this.#interrupted();
        const step = this.next();
        if (step.kind !== "probe") return this.answer(step);
        await this.keep(await this.probe(step.value));
      }
    } catch (error) {
      if (this.#ports.interrupt.aborted) return await this.#interrupted();
      if (error instanceof Stopped) return this.broken(error.message);
      if (error instanceof GateError && error.kind === "error") return this.broken(error.message);
      throw error;
    }
  }
}

/**
 * Search the smallest size at which the gate sees a pattern's leak: the leaky state fails and the fixed one passes.
 * @returns the document, which is also in the directory; when interrupted with the results
 * so far
 * @throws GateError LAB_SCALE_BROKEN when the pattern cannot run here, before the directory is touched;
 * LAB_FOLDER_TAKEN, LAB_UNWRITABLE, and those of usage
 */
export async function searchScale(
  options: ScaleOptions,
  narrator: ScaleNarrator,
  ports: GatePorts,
): Promise<ScaleDocument> {
  const { bounds, ...rest } = options;
  const missing = (await labAvailability(rest.python)).reason(rest.entry);
  if (missing !== null)
    throw new GateError("LAB_SCALE_BROKEN", missing, { hint: "Nothing was measured, and nothing was written." });
  await prepareScaleDirectory(rest.directory);
  // An empty name would make each run a session of its own, without a baseline of the same session.
  const session = rest.env.STORMLOG_GATE_SESSION || randomId();
  const env = { ...rest.env, STORMLOG_GATE_SESSION: session, PYTHONDONTWRITEBYTECODE: "1" };
  const pattern: SizedPattern = { ...rest, env, lab: labDirectory(rest.directory) };
  // The log of a run is shown as progress only. The kept bundles contain it.
  const quiet: GatePorts = { ...ports, log: (line) => ports.progress?.(line) };
  const search = new SizeSearch(pattern, bounds, narrator, quiet);
  const answer = await search.run();
  const { entry, setting } = pattern;
  const document: ScaleDocument = {
    schema: "stormlog.lab-scale/1",
    generated_at_utc: ports.now().toISOString(),
    pattern: entry.name,
    title: entry.title,
    by: "steps",
    from: bounds.from,
    to: bounds.to,
    factor: bounds.factor,
    scale: setting.scale,
    steps: null,
    batch: setting.batch,
    ...labEnvironment(search.fingerprint),
    probes: search.probes,
    answer,
  };
  await writeScaleDocument(pattern.directory, document);
  return document;
}
