import { type Tally, wilsonInterval } from "../../stats/wilson.ts";
import type { Verdict } from "../model/gate-report.ts";

const COLOR: Readonly<Record<Verdict, string>> = {
  pass: "brightgreen",
  warn: "yellow",
  fail: "red",
  unjudged: "lightgrey",
  error: "purple",
};

/** The JSON document of a shields.io endpoint badge, which accepts no other keys. */
function badgeJson(label: string, message: string, color: string): string {
  return `${JSON.stringify({ schemaVersion: 1, label, message, color })}\n`;
}

/** The badge of a nightly gate, marked where the gate only advises. */
export function nightlyBadge(verdict: Verdict, advisory: boolean): string {
  return badgeJson("memory", advisory ? `${verdict} (advisory)` : verdict, COLOR[verdict]);
}

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
