import { describe, expect, it } from "vitest";
import { NO_SIZES, type OutOfMemory } from "../../telemetry/recording/out-of-memory.ts";
import { recording, recordingInfo } from "../../telemetry/testing/recordings.ts";
import { analyze } from "../analyze.ts";
import { measuredRun } from "../measured-run.ts";
import { oomFindings } from "./oom-findings.ts";

const GIB = 1024 ** 3;

const base: OutOfMemory = {
  certainty: "established",
  confidence: 1,
  swallowed: false,
  source: "probe",
  runtime: "torch",
  time_ns: 3.2e9,
  pid: 77,
  rank: 2,
  device: "cuda:1",
  exception: "torch.OutOfMemoryError",
  message: "CUDA out of memory.",
  requested_bytes: 2 * GIB,
  allocated_bytes: 70 * GIB,
  reserved_bytes: 71 * GIB,
  free_bytes: GIB,
  total_bytes: 80 * GIB,
  step: 41,
  stack: [
    { file: "/opt/lib/python3.11/site-packages/torch/functional.py", line: 9, function: "einsum", code: "" },
    { file: "/project/src/train.py", line: 48, function: "step", code: "x = torch.einsum(a, b)" },
    { file: "/project/main.py", line: 3, function: "<module>", code: "step()" },
  ],
  errors: 1,
  evidence: ["the probe recorded torch.OutOfMemoryError in process 77"],
};

function finding(changes: Partial<OutOfMemory> = {}) {
  const info = recordingInfo({ exit: { kind: "exited", code: 1 }, oom: { ...base, ...changes } });
  const [first] = oomFindings(recording({ info }));
  if (first === undefined) throw new Error("expected a finding");
  return first;
}

describe("the finding of an out-of-memory error", () => {
  it("reports the requested bytes, the user's line and the free memory", () => {
    expect(finding()).toMatchObject({
      classification: "oom",
      severity: "critical",
      rank: 2,
      device: "cuda:1",
      description:
        "The run ran out of memory 3.2 s after its start, in step 41: src/train.py:48 requested 2.00 GiB on cuda:1, where 1.00 GiB of 80.00 GiB were free (70.00 GiB allocated, 71.00 GiB reserved).",
      evidence: {
        line: "src/train.py:48",
        function: "step",
        code: "x = torch.einsum(a, b)",
        requested_bytes: 2 * GIB,
        source: "probe",
      },
    });
  });

  it("reports that the command continued after swallowing the error, and the number of errors", () => {
    const { description, remediation } = finding({ swallowed: true, errors: 9 });
    expect(description).toContain("The command continued and ended with status 0. It was the first of 9 such errors.");
    expect(remediation.join(" ")).toContain("handles this error on purpose");
  });

  it("names fragmentation only when more memory was reserved and unused than was requested", () => {
    expect(finding().remediation.join(" ")).not.toContain("fragmented");
    expect(finding({ reserved_bytes: 73 * GIB }).remediation[0]).toContain("3.00 GiB were reserved and unused");
    expect(finding({ reserved_bytes: 73 * GIB, device: "host" }).remediation.join(" ")).not.toContain("fragmented");
  });

  it("reports for a kill by the kernel the process's memory and its cgroup's limit", () => {
    const { description } = finding({
      ...NO_SIZES,
      source: "kernel",
      runtime: "kernel",
      step: null,
      stack: [],
      message: "the kernel killed process 5 (python3)",
      allocated_bytes: GIB,
      total_bytes: 2 * GIB,
    });
    expect(description).toBe(
      "The run ran out of memory 3.2 s after its start: the kernel killed process 5 (python3). It held 1.00 GiB, and the limit of its cgroup is 2.00 GiB.",
    );
  });

  it("names no line when the stack has no file", () => {
    const stack = [{ file: "<string>", line: 2, function: "<module>", code: "" }];
    const reported = finding({ ...NO_SIZES, time_ns: null, step: null, device: null, stack, exception: "MemoryError" });
    expect(reported.evidence).not.toHaveProperty("line");
    expect(reported.description).toBe(
      "The run ran out of memory: a call that raised MemoryError requested more memory than was free.",
    );
  });

  it("uses the recording's name of the device, not the process's number", () => {
    const device = { own_name: "cuda:1", name: "cuda:5", model: null, uuid: null, total_bytes: null, driver_index: 5 };
    const process = {
      ...{
        pid: 77,
        parent: null,
        rank: 2,
        local_rank: null,
        world_size: null,
        role: "rank" as const,
        framework: "torch",
      },
      ...{
        versions: {},
        python: null,
        heap: null,
        allocator_conf: null,
        steps_from: null,
        devices: [device],
        error: null,
      },
    };
    const info = recordingInfo({ oom: base, probe: { processes: [process], processes_total: 1 } });
    expect(oomFindings(recording({ info }))[0]).toMatchObject({
      device: "cuda:5",
      description: expect.stringContaining("on cuda:5"),
    });
  });

  it("an out-of-memory error that only the output indicates is a warning and measured as suspected", () => {
    const evidence = ['the command printed "CUDA out of memory", but ended with status 0'];
    const changes = { certainty: "suspected", source: "output", swallowed: true, evidence } as const;
    expect(finding(changes)).toMatchObject({ classification: "oom_suspected", severity: "warning" });
    const origin = { session: "s", commit: null };
    const suspected = analyze(recording({ info: recordingInfo({ oom: { ...base, ...changes } }) }));
    expect(measuredRun(suspected, origin)).toMatchObject({ oom_suspected: true });
    expect(measuredRun(suspected, origin)).not.toHaveProperty("oom");
    const established = analyze(recording({ info: recordingInfo({ oom: base }) }));
    expect(measuredRun(established, origin)).toMatchObject({ oom: true });
  });

  it("the finding of an out-of-memory error comes from the marks of foreign telemetry", () => {
    const marks = [{ timeNs: 5e9, kind: "oom" as const, text: "OOM detected (message_pattern:out of memory)" }];
    expect(oomFindings(recording({ marks }))).toMatchObject([
      { classification: "oom", description: expect.stringContaining("5.0 s after its start: OOM detected") },
    ]);
  });
});
