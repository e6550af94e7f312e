import type { AnalysisDocument, Projection } from "../../analysis/series/document.ts";
import { formatShort } from "../../core/units.ts";

/** Name and length of a unit, and from which time on it is used, seconds. */
const UNITS = [
  ["days", 86_400, 3 * 86_400],
  ["h", 3600, 3600],
  ["min", 60, 60],
  ["s", 1, 0],
] as const;
/** Nothing is planned further ahead. */
const MAX_SHOWN_S = 365 * 86_400;

const brief = (value: number): string => Number(value.toPrecision(value < 100 ? 2 : 3)).toLocaleString("en-US");

/** "at 50 requests a second it is out of memory in 31 h (27 to 36), at the 2.00 GiB of its container"; null = never. */
export function projectionText({ rate, limit_bytes, limit_of, seconds, interval }: Projection): string | null {
  const [unit, unitS] = UNITS.find(([, , from]) => seconds >= from) ?? ["s", 1];
  if (seconds > MAX_SHOWN_S) return null;
  const [value, low, high] = [seconds, ...interval].map((one) => brief(one / unitS));
  const load = rate === null ? "under this load" : `at ${brief(rate)} requests a second`;
  const size = formatShort(limit_bytes);
  const limit = limit_of === "container" ? `the ${size} of its container` : `${limit_of} (${size})`;
  // The collector of Go works harder from its limit on, and does not end the program.
  const reaches = limit_of === "GOMEMLIMIT" ? `reaches ${limit}` : "is out of memory";
  const at = limit_of === "GOMEMLIMIT" ? "" : `, at ${limit}`;
  const range = low === high ? "" : ` (${low} to ${high})`;
  return `${load} it ${reaches} in ${value} ${unit}${range}${at}`;
}

const SHOWN = [
  ["bytes", "of host memory"],
  ["files", "of files in RAM"],
  ["objects", "Python objects"],
  ["descriptors", "descriptors"],
  ["threads", "threads"],
] as const;

/** "A cycle of 2,000 requests leaves 19.5 MiB (19.4 to 19.6) of host memory, 0 threads"; null for a command. */
export function cyclesText(analysis: AnalysisDocument | null): string | null {
  const { cycles = [], per_cycle = {} } = analysis ?? {};
  const parts = SHOWN.flatMap(([key, name]) => {
    const size =
      key === "bytes" || key === "files" ? formatShort : (count: number) => String(Number(count.toPrecision(3)));
    const found = per_cycle[key];
    if (found === undefined) return [];
    const [low, high] = found.interval.map(size);
    const range = found.left === 0 || low === high ? "" : ` (${low} to ${high})`;
    return [`${size(found.left)}${range} ${name}`];
  });
  const requests = cycles.at(-1)?.requests ?? null;
  const cycle = requests === null ? "A cycle" : `A cycle of ${requests.toLocaleString("en-US")} requests`;
  return parts.length === 0 ? null : `${cycle} leaves ${parts.join(", ")}.`;
}
