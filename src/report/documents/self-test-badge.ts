import { type Tally, wilsonInterval } from "../../stats/wilson.ts";
import { badgeJson } from "./badge.ts";

/** What the self-tests of a gate came to. */
export interface SelfTestRates {
  /** Unchanged programs that were called a regression. */
  readonly falseAlarms: Tally;
  /** Injected regressions that were found. */
  readonly detections: Tally;
}

/** Shares that a gate has to show to be green: the interval's far end, so that few tries are not enough. */
const MAX_FALSE_ALARMS = 0.1;
const MIN_DETECTIONS = 0.9;

/** Green when the counts prove it, yellow as long as they are too few to, red when they speak against it. */
function color({ falseAlarms, detections }: SelfTestRates): string {
  if (falseAlarms.tries === 0 && detections.tries === 0) return "lightgrey";
  const [alarmsLow, alarmsHigh] = wilsonInterval(falseAlarms);
  const [foundLow, foundHigh] = wilsonInterval(detections);
  if (alarmsLow > MAX_FALSE_ALARMS || foundHigh < MIN_DETECTIONS) return "red";
  return alarmsHigh <= MAX_FALSE_ALARMS && foundLow >= MIN_DETECTIONS ? "brightgreen" : "yellow";
}

/** Badge of the gate's self-test: how many injected regressions it found, and how often it cried wolf. */
export function selfTestBadge(rates: SelfTestRates): string {
  const { falseAlarms, detections } = rates;
  const message =
    falseAlarms.tries + detections.tries === 0
      ? "not tried"
      : `finds ${detections.hits}/${detections.tries}, false alarms ${falseAlarms.hits}/${falseAlarms.tries}`;
  return badgeJson({ label: "memory gate self-test", message, color: color(rates) });
}
