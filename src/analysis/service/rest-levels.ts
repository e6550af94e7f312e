import { medianInPlace } from "../../stats/order-statistics.ts";
import type { RecordedService } from "../../telemetry/recording/service.ts";
import type { MetricSeries } from "../series/series.ts";

/** What a series held at the rests of a service, each with the requests until then. */
export interface RestLevels {
  /** Bytes, or the count of a counted metric. */
  readonly levels: readonly number[];
  /** Requests until each rest; null where the load does not report them. */
  readonly requests: readonly number[] | null;
  /** End of each rest, seconds of the recording. */
  readonly atS: readonly number[];
}

/** The end of a rest is past the drain of the load before it. */
const SETTLED_SHARE = 0.5;

/** The median over the last part of each rest; null where the series was not read in it. */
export const levelsAtRest = (
  timeNs: Float64Array | null,
  values: Float64Array,
  { rests }: RecordedService,
): readonly (number | null)[] =>
  rests.map(({ at_ns: [begin, end] }) => {
    const from = begin + SETTLED_SHARE * (end - begin);
    const held = values.filter((value, i) => {
      const at = timeNs?.[i] ?? Number.NaN;
      return at >= from && at <= end && Number.isFinite(value);
    });
    return held.length === 0 ? null : medianInPlace(held);
  });

/** The levels of a series; a rest in which it was not read is left out. */
export function restLevels(
  { timeNs, bytes }: Pick<MetricSeries, "timeNs" | "bytes">,
  service: RecordedService,
): RestLevels {
  const levels = levelsAtRest(timeNs, bytes, service);
  const read = service.rests.filter((_, i) => levels[i] != null);
  const requests = read.flatMap(({ requests: until }) => until ?? []);
  return {
    levels: levels.filter((level) => level !== null),
    requests: requests.length === read.length ? requests : null,
    atS: read.map(({ at_ns: [, end] }) => end / 1e9),
  };
}
