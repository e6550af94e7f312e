import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import { recording, recordingInfo, table } from "../../telemetry/testing/recordings.ts";
import { analyze } from "../analyze.ts";

const GIB = 2 ** 30;
const S = 1e9;
/** Rests of a second after loads of three. */
const REST = 4;
const CYCLES = 9;

interface Setting {
  /** MiB after each cycle. */
  readonly left: (cycle: number) => number;
  readonly limit?: number | "none" | null;
  readonly requests?: number | null;
  readonly roles?: number;
  readonly unread?: number;
}

/** A service read ten times a second, of 100 MiB after its warm-up. */
function service({ left, limit = 2 * GIB, requests = 600, roles = 1, unread }: Setting) {
  const timeNs = Float64Array.from({ length: 10 * REST * (CYCLES + 1) }, (_, i) => (i * S) / 10);
  const cycleOf = (at: number) => Math.floor(at / S / REST);
  const host = timeNs.map((at) => (cycleOf(at) === unread ? Number.NaN : (100 + left(cycleOf(at))) * MIB));
  const descriptors = timeNs.map((at) => 8 + 3 * cycleOf(at));
  const rests = Array.from({ length: CYCLES + 1 }, (_, i) => ({
    at_ns: [(REST * i + 3) * S, (REST * i + 3.95) * S] as [number, number],
    requests: requests === null ? null : requests * (i + 1),
    load_s: 3,
  }));
  const role = { program: "app", pids: 1, peak_bytes: 1, bytes: [1] };
  const info = recordingInfo({
    exit: { kind: "stopped", signal: "SIGTERM" },
    fingerprint: limit === null ? {} : { memory_limit_bytes: limit },
    processes: { begin_ns: 0, bin_ns: S, roles: Array.from({ length: roles }, (_, i) => ({ ...role, role: `r${i}` })) },
    service: {
      port: 1,
      rests,
      requests: null,
      failed: null,
      failures: [],
      limits: [{ of: "GOMEMLIMIT", bytes: GIB }],
    },
  });
  return analyze(recording({ tables: [table({ timeNs, columns: { host, descriptors } })], info }));
}

const leak = (cycle: number) => 6 * cycle + (cycle % 2) / 8;

describe("the analysis of a service", () => {
  it("cycles have what each left, and a judged one its interval", () => {
    const { cycles, per_cycle } = service({ left: leak });
    expect(cycles).toHaveLength(CYCLES);
    expect(cycles?.[0]).toEqual({ requests: 600, load_s: 3, bytes: 6.125 * MIB, descriptors: 3 });
    const { left, interval } = per_cycle?.bytes ?? { left: 0, interval: [0, 0] };
    expect(left / MIB).toBeCloseTo(6, 1);
    expect(interval[0]).toBeLessThan(6 * MIB);
    expect(interval[1]).toBeGreaterThan(6 * MIB);
    expect(per_cycle?.descriptors?.left).toBe(3);
    expect(per_cycle).not.toHaveProperty("threads");
  });

  it("a series states what a request would have to leave to be called a leak", () => {
    const [host] = service({ left: () => 0 }).series.filter(({ metric }) => metric === "host");
    // Six of nine cycles of 600 requests are judged.
    expect(host?.mde_bytes_per_request).toBeCloseTo((host?.mde_bytes ?? 0) / 3600, 0);
  });

  it("a cycle without a reading at one of its ends is unknown, and so is what a judged one leaves", () => {
    const { cycles, per_cycle } = service({ left: leak, unread: 5 });
    const unknown = cycles?.flatMap(({ bytes }, i) => (bytes === null ? [i] : []));
    expect(unknown).toEqual([4, 5]);
    expect(per_cycle?.bytes).toBeUndefined();
  });

  it("a leak is projected to the first limit at the rate of the load, without the rests", () => {
    const { projection } = service({ left: leak });
    expect(projection).toMatchObject({ rate: 200, limit_bytes: GIB, limit_of: "GOMEMLIMIT" });
    // 870 MiB are left, 6 in each cycle of three seconds.
    expect(projection?.seconds).toBeCloseTo((3 * (1024 - 100 - leak(CYCLES))) / 6, -1);
    expect(projection?.interval[0]).toBeLessThan(projection?.seconds ?? 0);
    expect(projection?.interval[1]).toBeGreaterThan(projection?.seconds ?? 0);
  });

  it("the limit of a collector is that of a process, and a container's is that of all", () => {
    expect(service({ left: leak, roles: 2 }).projection).toMatchObject({ limit_of: "container", limit_bytes: 2 * GIB });
    expect(service({ left: leak, roles: 2, limit: "none" }).projection).toBeUndefined();
    expect(service({ left: leak, roles: 2, limit: null }).projection).toBeUndefined();
  });

  it("a rate is unknown where the load does not report its requests", () => {
    expect(service({ left: leak, requests: null }).projection).toMatchObject({ rate: null, limit_of: "GOMEMLIMIT" });
  });

  it("nothing is projected but a leak", () => {
    expect(service({ left: () => 0 }).projection).toBeUndefined();
    expect(service({ left: (cycle) => 80 * Math.log(cycle + 1) }).projection).toBeUndefined();
    expect(service({ left: (cycle) => (cycle === 0 ? 0 : 40) }).projection).toBeUndefined();
  });
});
