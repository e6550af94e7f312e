import { describe, expect, it } from "vitest";
import { probeOom } from "../recording/probe-record.ts";
import { type OomFacts, outOfMemory } from "./decide.ts";
import { NO_KERNEL_FACTS, victimsIn } from "./kernel.ts";
import { findMessages } from "./messages.ts";

const FAILED = { kind: "exited", code: 1 } as const;
const OK = { kind: "exited", code: 0 } as const;
const KILLED = { kind: "signaled", signal: "SIGKILL" } as const;

function decide(facts: Partial<OomFacts>) {
  const output = facts.output ?? "";
  return outOfMemory({
    exit: FAILED,
    startNs: 1_000_000_000n,
    probe: [],
    kernel: NO_KERNEL_FACTS,
    output,
    messages: findMessages(output),
    ...facts,
  });
}

const RECORD = `time_ns=3500000000
kind=torch-observer
exception=torch.cuda.OutOfMemoryError
message=CUDA out of memory. Tried to allocate 2.00 GiB (GPU 1; 79.15 GiB total capacity)
device=cuda:1
requested_bytes=2147483648
allocated_bytes=80000000000
reserved_bytes=81000000000
free_bytes=1000
total_bytes=84987740160
step=41
traceback=Traceback (most recent call last):%0A  File "train.py", line 41, in step%0A    x = torch.empty(n)%0A
`;
const probe = [probeOom("77.0.oom.0", RECORD, "pid=77\nrank=1\nexecutable=/usr/bin/python3\n")];
const REPORT =
  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 4.00 GiB of which 1.00 GiB is free.";

describe("a run whose end was not seen", () => {
  const exit = { kind: "running" } as const;
  const level = { bytes: 900, beforeBytes: 700, limitBytes: 1000 };

  it("a level that reaches its limit within two seconds is a suspicion, a lower or an unknown one is none", () => {
    expect(decide({ exit, level })).toMatchObject({
      certainty: "suspected",
      evidence: ["the record ends with 900 B of 1000 B in use, 200 B more than 2 s before"],
    });
    expect(decide({ exit, level: { ...level, beforeBytes: 850 } })).toBeNull();
    expect(decide({ exit, level: { ...level, bytes: Number.NaN } })).toBeNull();
  });

  it("a kill of the kernel establishes a lack of memory, what the command printed does not", () => {
    const kernel = { ...NO_KERNEL_FACTS, group: { kills: 1, timeNs: 5, dedicated: false } };
    expect(decide({ exit, kernel })).toMatchObject({ certainty: "established", time_ns: 5 });
    expect(decide({ exit, output: REPORT })).toMatchObject({ certainty: "suspected" });
  });
});

describe("the probe's record", () => {
  it("an error in the probe's record is certain, and contains all facts about the request", () => {
    expect(decide({ probe })).toMatchObject({
      certainty: "established",
      source: "probe",
      runtime: "torch",
      time_ns: 2_500_000_000,
      pid: 77,
      rank: 1,
      device: "cuda:1",
      requested_bytes: 2 * 1024 ** 3,
      free_bytes: 1000,
      step: 41,
      swallowed: false,
      stack: [{ file: "train.py", line: 41, function: "step", code: "x = torch.empty(n)" }],
    });
  });

  it("counts even when the command swallowed the error", () => {
    expect(decide({ probe, exit: OK })).toMatchObject({ certainty: "established", swallowed: true });
  });

  it("the first of several errors in the probe's records is reported", () => {
    const later = probeOom("77.0.oom.1", RECORD.replace("3500000000", "9500000000").replace("step=41", "step=50"), "");
    const both = decide({ probe: [later, ...probe] });
    expect(both).toMatchObject({ step: 41, errors: 2 });
  });

  it("a truncated probe record is read as far as possible", () => {
    const cut = probeOom("9.0.oom.0", "time_ns=12x\nkind=memory-error\nexception=MemoryErr", "");
    expect(decide({ probe: [cut] })).toMatchObject({ source: "probe", runtime: "python", time_ns: null, pid: 9 });
  });

  it("the probe's record is completed with sizes and stack from the output", () => {
    const bare = probeOom("9.0.oom.0", "kind=torch-exception\nexception=torch.OutOfMemoryError\n", "");
    const output = `Traceback (most recent call last):\n  File "a.py", line 3, in f\n${REPORT}`;
    expect(decide({ probe: [bare], output })).toMatchObject({
      source: "probe",
      requested_bytes: 2 * 1024 ** 3,
      stack: [{ file: "a.py", line: 3 }],
      evidence: [expect.stringMatching(/probe recorded/), expect.stringMatching(/printed/)],
    });
  });
});

describe("the command's output", () => {
  it("an error in the output is established when the command failed", () => {
    expect(decide({ output: REPORT })).toMatchObject({
      certainty: "established",
      source: "output",
      device: "cuda:0",
      free_bytes: 1024 ** 3,
      total_bytes: 4 * 1024 ** 3,
    });
  });

  it("an error in the output is only suspected when the command ended normally", () => {
    expect(decide({ output: REPORT, exit: OK })).toMatchObject({ certainty: "suspected", confidence: 0.5 });
    expect(decide({ output: "CUDA out of memory", exit: OK })).toBeNull();
  });

  it("counts without a report only near the end of a failed run's output", () => {
    expect(decide({ output: "malloc: Cannot allocate memory\n" })).toMatchObject({ certainty: "established" });
    expect(decide({ output: `malloc: Cannot allocate memory\n${"x\n".repeat(8000)}` })).toBeNull();
  });

  it("an error in the output is ignored when the command never started", () => {
    const exit = { kind: "not-started", code: "COMMAND_NOT_FOUND", message: "x" } as const;
    expect(decide({ exit, output: REPORT })).toBeNull();
  });
});

describe("the kernel's kill", () => {
  const group = { kills: 1, timeNs: 5e9, dedicated: false };
  const victims = [{ pid: 5, name: "python3", monotonicNs: 4_000_000_000n, anonBytes: 2e8, limitBytes: 2.1e8 }];

  it("a kernel kill is certain when the kernel's log names a process of the run", () => {
    expect(decide({ exit: OK, kernel: { ...NO_KERNEL_FACTS, victims } })).toMatchObject({
      certainty: "established",
      source: "kernel",
      time_ns: 3_000_000_000,
      pid: 5,
      allocated_bytes: 2e8,
      total_bytes: 2.1e8,
      swallowed: true,
    });
  });

  it("a kernel kill is certain when the full group contains only the run", () => {
    const kernel = { ...NO_KERNEL_FACTS, group: { ...group, dedicated: true } };
    expect(decide({ exit: OK, kernel })).toMatchObject({ certainty: "established", time_ns: 5e9 });
  });

  it("needs a failure when others share the group", () => {
    const kernel = { ...NO_KERNEL_FACTS, group };
    expect(decide({ exit: KILLED, kernel })).toMatchObject({ certainty: "established", confidence: 0.95 });
    expect(decide({ exit: { kind: "exited", code: 137 }, kernel })).toMatchObject({ confidence: 0.95 });
    expect(decide({ exit: FAILED, kernel })).toMatchObject({ certainty: "established", confidence: 0.85 });
    expect(decide({ exit: OK, kernel })).toMatchObject({ certainty: "suspected" });
  });

  it("needs a kill when only the machine's counter rose", () => {
    const kernel = { ...NO_KERNEL_FACTS, machineKills: 2 };
    expect(decide({ exit: KILLED, kernel })).toMatchObject({ certainty: "established" });
    expect(decide({ exit: FAILED, kernel })).toMatchObject({ certainty: "suspected" });
    expect(decide({ exit: OK, kernel })).toBeNull();
  });

  it("a SIGKILL from another source is not a kernel kill", () => {
    expect(decide({ exit: KILLED, kernel: { ...NO_KERNEL_FACTS, machineKills: 0 }, output: "Killed\n" })).toBeNull();
    expect(decide({ exit: KILLED })).toBeNull();
  });

  it("a kernel kill is evidence beside the probe's record, which contains the request", () => {
    const both = decide({ probe, exit: KILLED, kernel: { ...NO_KERNEL_FACTS, victims } });
    expect(both).toMatchObject({
      source: "probe",
      evidence: [expect.any(String), expect.stringMatching(/kernel's log/)],
    });
  });
});

describe("the kernel's log", () => {
  it("names its victims, with the limit of the group that was full", () => {
    const records = [
      "4,1,100,-;usb: nothing",
      "6,2,2077842000,-;memory: usage 204800kB, limit 204800kB, failcnt 52",
      "3,3,2077843020,-;Memory cgroup out of memory: Killed process 20590 (a) b) total-vm:210228kB, anon-rss:204288kB, file-rss:2164kB",
      "3,4,2077900000,-;Out of memory: Killed process 7 (x) total-vm:1kB",
      "garbage",
    ];
    expect(victimsIn(records)).toEqual([
      { pid: 20590, name: "a", monotonicNs: 2_077_843_020_000n, anonBytes: 204288 * 1024, limitBytes: 204800 * 1024 },
      { pid: 7, name: "x", monotonicNs: 2_077_900_000_000n, anonBytes: null, limitBytes: null },
    ]);
  });
});
