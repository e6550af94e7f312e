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

/** The median over the last part of each rest; a rest in which the series was not read is left out. */
export function restLevels(
  { timeNs, bytes }: Pick<MetricSeries, "timeNs" | "bytes">,
  service: RecordedService,
): RestLevels {
  const found = service.rests.flatMap(({ at_ns: [begin, end], requests }) => {
    const from = begin + SETTLED_SHARE * (end - begin);
    const held = bytes.filter((value, i) => {
      const at = timeNs?.[i] ?? Number.NaN;
      return at >= from && at <= end && Number.isFinite(value);
    });
    return held.length === 0 ? [] : [{ level: medianInPlace(held), requests, atS: end / 1e9 }];
  });
  const requests = found.flatMap(({ requests: until }) => (until === null ? [] : [until]));
  return {
    levels: found.map(({ level }) => level),
    requests: requests.length === found.length ? requests : null,
    atS: found.map(({ atS }) => atS),
  };
}
