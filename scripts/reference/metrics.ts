import { materialChange } from "../../src/analysis/trend/materiality.ts";
import { formatSize, METRIC, METRICS, type Metric } from "../../src/telemetry/recording/metrics.ts";

interface MetricText {
  readonly memory: string;
  readonly device: "device, `host`" | "device" | "`host`";
  readonly gates: string;
  readonly source: string;
}

const REQUEST = "on request";

const TEXTS: Readonly<Record<Metric, MetricText>> = {
  allocated: {
    memory: "handed out by an allocator: of a device, or the C heap of the host",
    device: "device, `host`",
    gates: "yes",
    source: "PyTorch, TensorFlow or JAX through the probe; glibc, jemalloc",
  },
  reserved: {
    memory: "taken by that allocator from the driver or kernel",
    device: "device, `host`",
    gates: "warns",
    source: "the same; mimalloc",
  },
  used: {
    memory: "of the device, of all processes",
    device: "device",
    gates: "warns",
    source: "NVML, sysfs, fdinfo, the I/O registry",
  },
  host: {
    memory: "held by the process tree: anonymous and shared pages once each, swap, huge pages",
    device: "`host`",
    gates: "unless `allocated` of a device was read, or `js_heap`; its growth, unless `outside_heap` was",
    source: "`statm` less what `smaps_rollup` shows to be counted twice, the cgroup; `ps` on macOS",
  },
  host_sum: {
    memory: "anonymous and shared pages summed over the processes, where that is another number",
    device: "`host`",
    gates: REQUEST,
    source: "`statm`, `status`",
  },
  host_shared_once: {
    memory: "`host` as `smaps_rollup` has it, at the times at which it was read",
    device: "`host`",
    gates: REQUEST,
    source: "`smaps_rollup`, once a second",
  },
  host_unmapped: {
    memory: "files in memory (memfd, tmpfs) that no process maps",
    device: "`host`",
    gates: REQUEST,
    source: "the job's own cgroup, or the user's files",
  },
  python: {
    memory: "handed out by CPython's own allocator, blocks of up to 512 bytes",
    device: "`host`",
    gates: "beside `host`",
    source: "the probe",
  },
  js_heap: {
    memory: "kept by V8's heap and its buffers after full collections",
    device: "`host`",
    gates: "instead of growth of `host`",
    source: "a script in each Node thread: V8's own full collections, and one at the thread's end",
  },
  jvm_heap: {
    memory: "kept by the heaps of Java virtual machines after full collections",
    device: "`host`",
    gates: "instead of growth of `host`",
    source:
      "the machine's performance counters (`hsperfdata`) and, in a repetition, its answer to `GC.class_histogram`",
  },
  outside_heap: {
    memory: "`host` less what such heaps take of it, garbage included; growth alone",
    device: "`host`",
    gates: "with such a heap",
    source: "`host` and the heaps' own counters",
  },
  left_behind: {
    memory: "files in RAM that outlive the command: POSIX and System V shared memory, other files of a tmpfs",
    device: "`host`",
    gates: "yes, by growth",
    source: "the file systems before and after the command",
  },
  descriptors: {
    memory: "open descriptors of the process tree: files, sockets, pipes; no bytes",
    device: "`host`",
    gates: "a leak",
    source: "`/proc/PID/fd`, ten times a second; Linux",
  },
  threads: {
    memory: "threads of the process tree; no bytes",
    device: "`host`",
    gates: "a leak",
    source: "`status`, ten times a second; Linux",
  },
  outside_allocator: {
    memory: "counted for the job by the driver, reserved by no allocator",
    device: "device",
    gates: REQUEST,
    source: "driver and probe",
  },
  fragmentation: {
    memory: "reserved by PyTorch, free, and not releasable",
    device: "device",
    gates: REQUEST,
    source: "the probe (`inactive_split_bytes`)",
  },
  graph_pools: {
    memory: "reserved by PyTorch for CUDA graphs",
    device: "device",
    gates: REQUEST,
    source: "the probe, at the end of each process",
  },
};

/** Smallest growth that is a leak, of the allocator of the host another one than of a device; and what only warns. */
function leakFloor(metric: Metric): string {
  const { floorBytes, failsFromBytes } = METRIC[metric];
  if (failsFromBytes !== undefined) return `${size(failsFromBytes, metric)}, warns from ${size(floorBytes, metric)}`;
  const onHost = materialChange(0, { metric, device: "host" });
  const floors = TEXTS[metric].device === "device, `host`" ? [METRIC[metric].floorBytes, onHost] : [onHost];
  return [...new Set(floors)].map((floor) => size(floor, metric)).join(", ");
}

const size = (bytes: number, metric: Metric): string => formatSize(metric, bytes).replace(".00", "");

/** The metrics as a table, in the order in which the program has them. @throws where one is listed wrongly */
export function metricsTable(): string {
  const rows = METRICS.map((metric) => {
    const { memory, device, gates, source } = TEXTS[metric];
    if (METRIC[metric].isOnRequest !== (gates === REQUEST))
      throw new Error(`${metric}: isOnRequest of its row and "gates" in scripts/reference/metrics.ts differ`);
    const { hasPeak, peakFloorBytes, quantumBytes } = METRIC[metric];
    const peak = hasPeak ? size(peakFloorBytes, metric) : "–";
    const sizes = [leakFloor(metric), peak, size(quantumBytes, metric)];
    return `| \`${metric}\` | ${memory} | ${device} | ${gates} | ${sizes.join(" | ")} | ${source} |\n`;
  });
  return `| metric | memory | of | gates | leak from | peak from | unit | source |\n|---|---|---|---|---|---|---|---|\n${rows.join("")}`;
}
