import { MIB } from "../../core/units.ts";

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
    isExplainable: false,
    hasPeak: false,
    isLeftBehind: true,
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
