import { plural } from "../../core/text.ts";
import { formatBytes, formatBytesDelta, formatShort, MIB } from "../../core/units.ts";

/** Everything that differs between metrics. A new metric is a row of {@link METRIC} and the source that fills it. */
interface MetricTraits {
  /** For people, before "peak" or "growth" and in rows; published documents have the key. */
  readonly label: string;
  /** The same as a noun where it is not "… memory". */
  readonly noun?: string;
  /**
   * Smallest change over a run that is judged, bytes. Healthy allocated memory is mostly bit-constant, so noise can be
   * zero and 512 bytes infinitely significant. An allocator's count changes only by what the program retains, so it
   * needs three quarters of the floor of pages, segments and the driver (`bench/verdict`, part `trade-offs`).
   */
  readonly floorBytes: number;
  /** Without a baseline, a leak of less than this warns; absent = every one fails. Bytes. */
  readonly failsFromBytes?: number;
  /**
   * Smallest change of a peak that is judged, bytes: a small allocator segment, a large one (which pools have as well),
   * 2 MiB pages with the jitter of the driver, or 4 KiB pages with allocator trimming, thread stacks and page cache.
   */
  readonly peakFloorBytes: number;
  /**
   * Smallest unit that it moves in, bytes: allocator rounding, allocator segment or driver page granularity, a page.
   * Its rounding error (quantum / sqrt 12) is the smallest spread ever assumed.
   */
  readonly quantumBytes: number;
  /**
   * Minimum observed growth that is projected to a horizon, bytes. The system maps pages in chunks (128 KiB of glibc's
   * top pad, an arena of a thread), and fewer than 16 chunks do not predict distant growth.
   */
  readonly minProjectedBytes: number;
  /** In the token of an acceptance. */
  readonly letter: string;
  /** What the program itself counts, which decides before its pages. */
  readonly isCounted: boolean;
  /** Held by an interpreter: part of `host`, and judged where `host` is. */
  readonly isInterpreter: boolean;
  /** Behaves like a running maximum, because allocators and drivers keep what they reserved. */
  readonly isHighwater: boolean;
  /** Judged and shown only where a budget or the policy names it, because it explains others. */
  readonly isOnRequest: boolean;
  /** Consists of the program's allocations, so that stacks can explain its peak. */
  readonly isExplainable: boolean;
  /** What a heap holds after full collections. Where it is known, it is judged in the place of host growth. */
  readonly isLiveHeap: boolean;
  /** Known as a lower envelope or a difference, so that its growth is judged and its peak is not. */
  readonly hasPeak: boolean;
  /** One value: what is there after the command. All of it grew, and another run adds as much again. */
  readonly isLeftBehind: boolean;
  /** Things that are counted: every size of the metric is their number then, also where its name has "bytes". */
  readonly counted?: Counted;
}

interface Counted {
  /** "descriptor" */
  readonly noun: string;
  /** Bytes as which one of them counts in limits that all metrics share. */
  readonly weightBytes: number;
}

const PAGES = { floorBytes: 16 * MIB, peakFloorBytes: 8 * MIB, quantumBytes: 4096, minProjectedBytes: 2 * MIB };
const SEGMENTS = { ...PAGES, peakFloorBytes: 20 * MIB, quantumBytes: 2 * MIB };
const DRIVER = { ...PAGES, quantumBytes: 2 * MIB };
const COUNT = { floorBytes: 12 * MIB, quantumBytes: 512, minProjectedBytes: 0 };
const PLAIN = {
  isCounted: false,
  isInterpreter: false,
  isHighwater: false,
  isOnRequest: false,
  isExplainable: true,
  isLiveHeap: false,
  hasPeak: true,
  isLeftBehind: false,
};
/** What a collected heap holds, with the rounding of a collection and of what it leaves behind. */
const LIVE_HEAP = {
  ...PLAIN,
  ...PAGES,
  floorBytes: 12 * MIB,
  quantumBytes: MIB,
  isCounted: true,
  isInterpreter: true,
  isLiveHeap: true,
  isExplainable: false,
};
/** What a program may keep beside memory. The level is the size of the program, so only a leak is judged. */
const COUNTED = { ...PLAIN, quantumBytes: 1, isExplainable: false, hasPeak: false };
const ON_REQUEST = { ...PLAIN, isOnRequest: true };

/** In the order in which they are shown. */
const ROWS = {
  allocated: { ...PLAIN, ...COUNT, label: "allocated", peakFloorBytes: 2 * MIB, letter: "a", isCounted: true },
  reserved: { ...PLAIN, ...SEGMENTS, label: "reserved", letter: "r", isHighwater: true },
  used: { ...PLAIN, ...DRIVER, label: "device-used", letter: "u", isHighwater: true, isExplainable: false },
  /** What the process tree holds: anonymous and shared pages once each, swap, huge pages. */
  host: { ...PLAIN, ...PAGES, label: "host", letter: "h" },
  /** Anonymous and shared pages, summed over the processes; absent where it is the same. */
  host_sum: {
    ...ON_REQUEST,
    ...PAGES,
    label: "host (sum over processes)",
    noun: "host memory summed over the processes",
    letter: "t",
  },
  /** The same with each shared page counted once. */
  host_shared_once: {
    ...ON_REQUEST,
    ...PAGES,
    label: "host (read from all processes)",
    noun: "host memory as read from all processes",
    letter: "s",
  },
  /** Memfd and tmpfs of the job that no process maps. */
  host_unmapped: { ...ON_REQUEST, ...PAGES, label: "unmapped host", letter: "m" },
  /** What CPython's own allocator has handed out of its arenas. */
  python: {
    ...PLAIN,
    ...COUNT,
    label: "Python",
    peakFloorBytes: 8 * MIB,
    letter: "p",
    isCounted: true,
    isInterpreter: true,
  },
  /** What V8's heap holds after full collections, with its buffers. */
  js_heap: {
    ...LIVE_HEAP,
    label: "JavaScript heap",
    noun: "JavaScript heap",
    letter: "j",
    isExplainable: true,
  },
  /** What the heaps of Java virtual machines hold after full collections. */
  jvm_heap: { ...LIVE_HEAP, label: "Java heap", noun: "Java heap", letter: "v" },
  /** `host` less what collected heaps take of it, garbage included. */
  outside_heap: {
    ...PLAIN,
    ...PAGES,
    label: "host outside heap",
    noun: "host memory outside the heap",
    letter: "n",
    isInterpreter: true,
    isExplainable: false,
    hasPeak: false,
  },
  /** Files in RAM that outlive the command. */
  left_behind: {
    ...PLAIN,
    ...PAGES,
    label: "left-behind",
    noun: "memory left behind in files",
    letter: "l",
    floorBytes: MIB,
    failsFromBytes: 16 * MIB,
    isExplainable: false,
    hasPeak: false,
    isLeftBehind: true,
  },
  /** Open descriptors of the process tree, one in several processes once in each. */
  descriptors: {
    ...COUNTED,
    label: "descriptor",
    noun: "the number of open descriptors",
    floorBytes: 16,
    failsFromBytes: 64,
    peakFloorBytes: 32,
    minProjectedBytes: 16,
    letter: "d",
    counted: { noun: "descriptor", weightBytes: MIB / 4 },
  },
  /** Threads of the process tree. */
  threads: {
    ...COUNTED,
    label: "thread",
    noun: "the number of threads",
    floorBytes: 8,
    failsFromBytes: 32,
    peakFloorBytes: 16,
    minProjectedBytes: 8,
    letter: "c",
    counted: { noun: "thread", weightBytes: MIB / 2 },
  },
  /** What the driver counts for the job and no allocator of the device reserves. */
  outside_allocator: { ...ON_REQUEST, ...DRIVER, label: "outside-allocator", letter: "o", isExplainable: false },
  /** Reserved, free, and in segments that hold something, so that it cannot be released. */
  fragmentation: {
    ...ON_REQUEST,
    ...SEGMENTS,
    label: "fragmentation",
    noun: "fragmentation",
    quantumBytes: 512,
    letter: "f",
    isExplainable: false,
  },
  /** Reserved for captured graphs alone. */
  graph_pools: { ...ON_REQUEST, ...SEGMENTS, label: "graph-pool", letter: "g", isExplainable: false },
} satisfies Readonly<Record<string, MetricTraits>>;

/** Metrics that are judged. */
export type Metric = keyof typeof ROWS;
export const METRIC: Readonly<Record<Metric, MetricTraits>> = ROWS;
export const METRICS = Object.keys(METRIC) as readonly Metric[];

/** Documents of a later version may contain other metrics, which are skipped. */
export const isMetric = (name: string): name is Metric => Object.hasOwn(METRIC, name);

/** What a person reads for a metric; the name itself where it is one of a later version. */
export const metricLabel = (name: string): string => (isMetric(name) ? METRIC[name].label : name);

/** The same as a noun: "host memory", "JavaScript heap". */
export const metricNoun = (metric: Metric): string => METRIC[metric].noun ?? `${METRIC[metric].label} memory`;

/** Whether its sizes are a number of things, and not bytes. */
export const isCounted = (metric: string): boolean => isMetric(metric) && METRIC[metric].counted !== undefined;

/** A limit that is stated in bytes for all metrics, in the unit of one. */
export const limitOf = (bytes: number, metric: Metric): number => bytes / (METRIC[metric].counted?.weightBytes ?? 1);

const FORMATS = { exact: formatBytes, delta: formatBytesDelta, short: formatShort };

/** A size of a metric, or a rate of it, for people: "1.50 GiB", "+64 descriptors", "0.25 threads". */
export function formatSize(metric: string, size: number, format: keyof typeof FORMATS = "exact"): string {
  const counted = isMetric(metric) ? METRIC[metric].counted : undefined;
  if (counted === undefined) return FORMATS[format](size);
  const count = Math.abs(size) < 100 ? Number(size.toPrecision(3)) : Math.round(size);
  return `${format === "delta" && count > 0 ? "+" : ""}${plural(count, counted.noun)}`;
}
