import { describe, expect, it } from "vitest";
import type {
  ProbePhase,
  ProbeProcess,
  Recording,
  RecordingInfo,
  SampleTable,
} from "../../telemetry/recording/model.ts";
import { recordingOf, tableOf } from "../testing/recordings.ts";
import { MAX_NAMES, outerPhases, type PhaseMemory, phasesMemory } from "./phases.ts";

const S = 1e9;
const phase = (name: string, from: number, to: number | null): ProbePhase => ({
  name,
  began_ns: from * S,
  ended_ns: to === null ? null : to * S,
});

const processOf = (pid: number, phases: readonly ProbePhase[], rest: Partial<ProbeProcess> = {}): ProbeProcess => ({
  pid,
  parent: null,
  rank: null,
  local_rank: null,
  world_size: null,
  role: "plain",
  framework: null,
  versions: {},
  python: null,
  heap: null,
  allocator_conf: null,
  steps_from: null,
  devices: [],
  error: null,
  phases,
  ...rest,
});

/** A recording of 10 s whose processes recorded phases. */
function recorded(
  tables: readonly SampleTable[],
  processes: readonly ProbeProcess[],
  rest: Partial<Recording> = {},
): Recording {
  const info = {
    identity: { rank: 0 },
    clock: { duration_s: 10 },
    probe: { processes, processes_total: processes.length },
  } as unknown as RecordingInfo;
  return recordingOf(tables, { info, ...rest });
}

/** Samples one second apart from second 0 on. */
const samples = (values: readonly number[], options: Parameters<typeof tableOf>[1] = {}) =>
  tableOf({ allocated: values }, { device: "host", intervalS: 1, ...options });

const oneOf = (recording: Recording): PhaseMemory => phasesMemory(recording)!.phases[0]!;

describe("phasesMemory", () => {
  it("phasesMemory returns null without phases", () => {
    expect(phasesMemory(recorded([samples([1, 2])], [processOf(1, [])]))).toBeNull();
    expect(phasesMemory(recordingOf([samples([1, 2])]))).toBeNull();
  });

  it("reports count, duration, highest sample and median growth of each name", () => {
    const memory = phasesMemory(
      recorded(
        [samples([0, 10, 90, 20, 20, 50, 20, 25, 26, 26, 0])],
        [
          processOf(1, [
            phase("validate", 1, 3),
            phase("train", 4, 6),
            phase("validate", 6, 8),
            phase("validate", 8, 9),
          ]),
        ],
      ),
    );
    expect(memory).toEqual({
      metric: "allocated",
      device: "host",
      dropped: 0,
      phases: [
        { name: "validate", entered: 3, unended: 0, processes: 1, seconds: 5, highest_bytes: 90, growth_bytes: 6 },
        { name: "train", entered: 1, unended: 0, processes: 1, seconds: 2, highest_bytes: 50, growth_bytes: 0 },
      ],
    });
  });

  it("uses the sample at the end of the previous phase as the beginning", () => {
    const timeNs = Float64Array.of(0, 1.999, 2.9, 2.999).map((time) => time * S);
    const table = samples([5, 5, 8, 8], { timeNs });
    expect(oneOf(recorded([table], [processOf(1, [phase("forward", 2, 3)])])).growth_bytes).toBe(3);
  });

  it("does not count memory that was released after the phase, or before it, against the phase", () => {
    const timeNs = Float64Array.of(0, 0.99, 1.05, 2.9, 3.01).map((time) => time * S);
    const table = samples([5, 200, 20, 60, 4], { timeNs });
    expect(oneOf(recorded([table], [processOf(1, [phase("training", 1, 3)])])).growth_bytes).toBe(40);
  });

  it("shows that a phase shrank when its own samples do", () => {
    const memory = oneOf(recorded([samples([90, 90, 90, 10, 10])], [processOf(1, [phase("cleanup", 1, 4)])]));
    expect(memory.growth_bytes).toBe(-80);
  });

  it("phasesMemory reports no size without a sample in the phase", () => {
    const { highest_bytes, growth_bytes, seconds } = oneOf(
      recorded([samples([1, 2, 3])], [processOf(1, [phase("short", 1.2, 1.4)])]),
    );
    expect([highest_bytes, growth_bytes]).toEqual([null, null]);
    expect(seconds).toBeCloseTo(0.2);
  });

  it("phasesMemory reports no growth with a single sample, or when the phase never ended", () => {
    expect(oneOf(recorded([samples([1, 2, 3])], [processOf(1, [phase("one", 0.9, 1.1)])]))).toMatchObject({
      highest_bytes: 2,
      growth_bytes: null,
    });
    const killed = recorded([samples([1, 2, 3, 9])], [processOf(1, [phase("open", 1, null)])]);
    expect(oneOf(killed)).toMatchObject({ unended: 1, seconds: 9, highest_bytes: 9, growth_bytes: null });
  });

  it("ends a phase without an end together with its process", () => {
    const marks = [{ timeNs: 3 * S, kind: "process-exit", text: "", pid: 7 }] as const;
    const memory = oneOf(recorded([samples([1, 2, 3, 4, 90])], [processOf(7, [phase("open", 1, null)])], { marks }));
    expect(memory).toMatchObject({ seconds: 2, highest_bytes: 4 });
  });

  it("phasesMemory reports no duration when no end is known", () => {
    const recording = recorded([samples([1, 2, 3])], [processOf(1, [phase("open", 1, null)])]);
    const info = { ...recording.info!, clock: { ...recording.info!.clock, duration_s: null } };
    expect(oneOf({ ...recording, info })).toMatchObject({ seconds: null, highest_bytes: 3 });
  });

  it("prefers the device to the heap, and the heap to the host", () => {
    const processes = [processOf(1, [phase("all", 0, 2)])];
    const host = tableOf({ host: [7, 7, 7] }, { device: "host", intervalS: 1 });
    const [heap, small, large] = [
      samples([5, 5, 5]),
      samples([1, 1, 1], { device: "cuda:0" }),
      samples([3, 2, 1], { device: "cuda:1" }),
    ];
    const series = (tables: readonly SampleTable[]) => {
      const memory = phasesMemory(recorded(tables, processes))!;
      return [memory.metric, memory.device, memory.phases[0]!.highest_bytes];
    };
    expect(series([host, heap, small, large])).toEqual(["allocated", "cuda:1", 3]);
    expect(series([host, heap])).toEqual(["allocated", "host", 5]);
    expect(series([host])).toEqual(["host", "host", 7]);
    expect(series([])).toEqual(["host", null, null]);
  });

  it("uses the memory of the rank that recorded the phase", () => {
    const tables = [samples([1, 1, 1], { device: "cuda:0" }), samples([9, 9, 12], { rank: 1, device: "cuda:1" })];
    const processes = [
      processOf(1, [phase("a", 0, 2)], { rank: 0 }),
      processOf(2, [phase("b", 0, 2), phase("a", 1, 2)], { rank: 1 }),
    ];
    const memory = phasesMemory(recorded(tables, processes))!;
    expect(memory.device).toBeNull();
    expect(memory.phases).toMatchObject([
      { name: "a", entered: 2, processes: 2, highest_bytes: 12, growth_bytes: 1.5 },
      { name: "b", entered: 1, processes: 1, highest_bytes: 12, growth_bytes: 3 },
    ]);
  });

  it("counts omitted entries", () => {
    const many = Array.from({ length: MAX_NAMES + 6 }, (_, i) => phase(`epoch ${i}`, i / 100, i / 100 + 0.01));
    const memory = phasesMemory(recorded([samples([1, 1])], [processOf(1, many, { phases_dropped: 744 })]))!;
    expect([memory.phases.length, memory.dropped]).toEqual([MAX_NAMES, 750]);
  });
});

describe("outerPhases", () => {
  const names = (processes: readonly ProbeProcess[]) =>
    outerPhases(recorded([], processes)).map(({ name, from_s, to_s }) => [name, from_s, to_s]);

  it("outerPhases returns the outermost phases of the lowest rank that has any", () => {
    const nested = [phase("outer", 1, 4), phase("inner", 2, 3), phase("next", 4, 6), phase("thread's", 5, 7)];
    const other = processOf(2, [phase("other", 0, 9)], { rank: 3 });
    const silent = processOf(3, [], { rank: 0 });
    expect(names([other, silent, processOf(1, nested, { rank: 1 })])).toEqual([
      ["outer", 1, 4],
      ["next", 4, 6],
    ]);
  });

  it("outer phases that never ended last as long as the recording; without phases the list is empty", () => {
    expect(names([processOf(1, [phase("open", 2, null)])])).toEqual([["open", 2, 10]]);
    expect(outerPhases(recordingOf([]))).toEqual([]);
  });
});
