import { formatBytes } from "../../core/units.ts";
import { ownerOf, relativePath, userFrames } from "../../snapshot/model/frames.ts";
import type { Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import type { OomFrame, OutOfMemory } from "../../telemetry/recording/out-of-memory.ts";
import type { Finding } from "../series/document.ts";

/** Classification of a certain error, which fails the verdict. */
export const OOM = "oom";
/** Classification of an error that only the program's output indicates, which warns. */
export const OOM_SUSPECTED = "oom_suspected";

const GENERAL = [
  "The oom/ directory of the run contains the last seconds before it: look at the largest series there.",
  "Reduce the peak first. With the same growth the failure is only postponed.",
];

/** The user's call that requested the memory. */
function callOf(oom: OutOfMemory, root: string): { readonly frame: OomFrame; readonly location: string } | null {
  const isUser = userFrames({ root });
  const owner = ownerOf(
    oom.stack.filter(({ file, line }) => line > 0 && !/^[<[]/.test(file)),
    (frame) => isUser({ ...frame, file: frame.file }),
  );
  const frame = oom.stack.find((one) => one === owner?.frame);
  return frame === undefined ? null : { frame, location: `${relativePath(frame.file, root)}:${frame.line}` };
}

/** "requested 2.00 GiB on cuda:0, where 1.12 GiB of 79.15 GiB were free (77.20 GiB allocated, 77.50 GiB reserved)" */
function requestText(oom: OutOfMemory): string {
  const asked =
    oom.requested_bytes === null
      ? "requested more memory than was free"
      : `requested ${formatBytes(oom.requested_bytes)}`;
  const where = oom.device === null || oom.device === "host" ? "" : ` on ${oom.device}`;
  const total = oom.total_bytes === null ? "" : ` of ${formatBytes(oom.total_bytes)}`;
  const free = oom.free_bytes === null ? "" : `, where ${formatBytes(oom.free_bytes)}${total} were free`;
  const parts = [
    ...(oom.allocated_bytes === null ? [] : [`${formatBytes(oom.allocated_bytes)} allocated`]),
    ...(oom.reserved_bytes === null ? [] : [`${formatBytes(oom.reserved_bytes)} reserved`]),
    ...(free === "" && oom.total_bytes !== null ? [`the limit is ${formatBytes(oom.total_bytes)}`] : []),
  ];
  return `${asked}${where}${free}${parts.length === 0 ? "" : ` (${parts.join(", ")})`}`;
}

function whenText(oom: OutOfMemory): string {
  const at = oom.time_ns === null ? "" : ` ${(oom.time_ns / 1e9).toFixed(1)} s after its start`;
  return `${at}${oom.step === null ? "" : `, in step ${oom.step}`}`;
}

function establishedText(oom: OutOfMemory, location: string | null): string {
  const more = oom.errors > 1 ? ` It was the first of ${oom.errors} such errors.` : "";
  const went = oom.swallowed ? " The command continued and ended with status 0." : "";
  if (oom.source === "kernel") {
    const held = oom.allocated_bytes === null ? "" : `. It held ${formatBytes(oom.allocated_bytes)}`;
    const limit =
      oom.total_bytes === null
        ? ""
        : `${held === "" ? ". T" : ", and t"}he limit of its cgroup is ${formatBytes(oom.total_bytes)}`;
    return `The run ran out of memory${whenText(oom)}: ${oom.message ?? oom.evidence[0] ?? "the kernel killed it"}${held}${limit}.${went}${more}`;
  }
  const who = location ?? (oom.exception === null ? "the program" : `a call that raised ${oom.exception}`);
  return `The run ran out of memory${whenText(oom)}: ${who} ${requestText(oom)}.${went}${more}`;
}

function suspectedText(oom: OutOfMemory): string {
  return `The run may have run out of memory: ${oom.evidence[0] ?? "its output contains the error"}. Nothing else indicates it.`;
}

function remediation(oom: OutOfMemory): readonly string[] {
  const hints: string[] = [];
  const slack = (oom.reserved_bytes ?? 0) - (oom.allocated_bytes ?? 0);
  // On a device only: the free memory of a process's heap is fragmented as well, but no setting of PyTorch changes
  // that.
  const onDevice = oom.device !== null && oom.device !== "host";
  if (oom.runtime === "torch" && onDevice && oom.requested_bytes !== null && slack >= oom.requested_bytes) {
    hints.push(
      `${formatBytes(slack)} were reserved and unused, more than was requested: the memory is fragmented. Try PYTORCH_ALLOC_CONF=expandable_segments:True (PYTORCH_CUDA_ALLOC_CONF before PyTorch 2.9).`,
    );
  }
  if (oom.source === "kernel") {
    hints.push("The limit of the cgroup or the machine was reached. Raise it only once the peak is explained.");
  }
  if (oom.runtime === "node" && oom.exception === null) {
    hints.push("V8's heap limit was reached, not the machine's. --max-old-space-size changes it.");
  }
  if (oom.runtime === "java") hints.push("The JVM's heap limit was reached, not the machine's. -Xmx changes it.");
  if (oom.swallowed) {
    hints.push(
      "If the program handles this error on purpose (a search for the largest batch), measure without that search.",
    );
  }
  return [...hints, ...GENERAL];
}

/** A process numbers only the devices visible to it. The recording names them by the names that all ranks share. */
function recordedDevice(oom: OutOfMemory, info: RecordingInfo): string | null {
  const process = info.probe?.processes.find(({ pid }) => pid === oom.pid);
  return process?.devices.find((device) => device.own_name === oom.device)?.name ?? oom.device;
}

function findingOf(reported: OutOfMemory, info: RecordingInfo): Finding {
  const oom = { ...reported, device: recordedDevice(reported, info) };
  const established = oom.certainty === "established";
  const call = callOf(oom, info.command.cwd);
  const known = Object.entries({
    time_s: oom.time_ns === null ? null : oom.time_ns / 1e9,
    step: oom.step,
    pid: oom.pid,
    exception: oom.exception,
    text: oom.message,
    requested_bytes: oom.requested_bytes,
    free_bytes: oom.free_bytes,
    allocated_bytes: oom.allocated_bytes,
    reserved_bytes: oom.reserved_bytes,
    total_bytes: oom.total_bytes,
    line: call?.location ?? null,
    function: call === null || call.frame.function === "" ? null : call.frame.function,
    code: call === null || call.frame.code === "" ? null : call.frame.code,
  }).filter(([, value]) => value !== null);
  return {
    classification: established ? OOM : OOM_SUSPECTED,
    severity: established ? "critical" : "warning",
    confidence: oom.confidence,
    rank: oom.rank ?? info.identity.rank,
    device: oom.device,
    metric: null,
    evidence: {
      source: oom.source,
      runtime: oom.runtime,
      swallowed: oom.swallowed,
      errors: oom.errors,
      ...Object.fromEntries(known),
      told_by: oom.evidence.join("; "),
    },
    description: established ? establishedText(oom, call?.location ?? null) : suspectedText(oom),
    remediation: remediation(oom),
  };
}

/** That the run ran out of memory: as judged at its end, or from the marks of foreign telemetry. */
export function oomFindings(recording: Recording): Finding[] {
  const { info } = recording;
  if (info?.oom !== undefined) return [findingOf(info.oom, info)];
  return recording.marks
    .filter((mark) => mark.kind === "oom")
    .map((mark) => ({
      classification: OOM,
      severity: "critical",
      confidence: 1,
      rank: info?.identity.rank ?? null,
      device: null,
      metric: null,
      evidence: { time_s: mark.timeNs / 1e9, text: mark.text, ...(mark.pid === undefined ? {} : { pid: mark.pid }) },
      description: `The run ran out of memory ${(mark.timeNs / 1e9).toFixed(1)} s after its start: ${mark.text}.`,
      remediation: GENERAL,
    }));
}
