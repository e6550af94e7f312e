import { bencherIqr, bencherT, bencherZ } from "./peak-bencher.ts";
import { anyIncrease, overMean, overPinned, ratioOverLast } from "./peak-fixed.ts";
import { mannWhitney } from "./peak-mann-whitney.ts";
import { otavaWindow } from "./peak-otava.ts";
import { perfCompare } from "./peak-perfcompare.ts";
import { adaptive, adaptiveDuet, maxOfFive, type PeakScale, threeOfThree } from "./peak-repeated.ts";
import type { PeakRule } from "./peak-rule.ts";
import { stormlogSpike } from "./peak-stormlog.ts";

/** Every rule that ours is compared with, for a metric of this scale. */
export function publishedPeakRules(scale: PeakScale): readonly PeakRule[] {
  return [
    ratioOverLast(200),
    ratioOverLast(102),
    anyIncrease,
    overPinned(5),
    overMean(10),
    bencherZ(30),
    bencherT,
    bencherIqr,
    perfCompare,
    mannWhitney,
    stormlogSpike,
    otavaWindow,
    threeOfThree(scale),
    maxOfFive(scale),
    adaptive(scale),
    adaptiveDuet(scale),
  ];
}
