import { type Tally, wilsonInterval } from "../../stats/wilson.ts";
import { badgeJson } from "./badge.ts";

interface SelfTestRates {
  /** Unchanged programs that the gate failed. */
  readonly falseAlarms: Tally;
  /** Injected regressions that the gate failed. */
  readonly detections: Tally;
}

/** Bounds of a green badge. They apply to the far end of the interval, so that few tries are not enough. */
const MAX_FALSE_ALARMS = 0.1;
const MIN_DETECTIONS = 0.9;

/** Green when the intervals are within the bounds, red when one is outside, yellow when one contains a bound. */
function color({ falseAlarms, detections }: SelfTestRates): string {
  if (falseAlarms.tries === 0 && detections.tries === 0) return "lightgrey";
  const [alarmsLow, alarmsHigh] = wilsonInterval(falseAlarms);
  const [foundLow, foundHigh] = wilsonInterval(detections);
  if (alarmsLow > MAX_FALSE_ALARMS || foundHigh < MIN_DETECTIONS) return "red";
  return alarmsHigh <= MAX_FALSE_ALARMS && foundLow >= MIN_DETECTIONS ? "brightgreen" : "yellow";
}

/** The badge of the gate's self-test: injected regressions found, and false alarms. */
export function selfTestBadge(rates: SelfTestRates): string {
  const { falseAlarms, detections } = rates;
  const message =
    falseAlarms.tries + detections.tries === 0
      ? "not tried"
      : `finds ${detections.hits}/${detections.tries}, false alarms ${falseAlarms.hits}/${falseAlarms.tries}`;
  return badgeJson("memory gate self-test", message, color(rates));
}
