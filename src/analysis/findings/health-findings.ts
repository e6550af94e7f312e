import { formatBytes, formatDuration } from "../../core/units.ts";
import { ALL_DEVICES } from "../../telemetry/devices/device-health.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import type { DeviceHealth } from "../../telemetry/recording/recorded-device.ts";
import type { Finding, Severity } from "../series/document.ts";

const AGAIN =
  "Measure again, on another machine if possible: samples after this event are not evidence about the change.";
const GONE = "Its samples end there.";

/** "for 5.0 s", or nothing. */
const during = (ns: number | null): string => (ns === null || ns === 0 ? "" : ` for ${formatDuration(ns / 1e9)}`);

function stalledText(count: number, recovered: DeviceHealth | undefined): string {
  return recovered === undefined || recovered.count < count
    ? "The driver stopped answering and had not recovered when the run ended."
    : `The driver did not answer${during(recovered.code)}. Samples of that time are missing.`;
}

/** An instance that was recreated, or a driver that was reloaded: the device answered later. */
const cameBack = ({ timeNs }: DeviceHealth, others: readonly DeviceHealth[]): boolean =>
  !others.some((other) => other.kind === "stalled") &&
  others.some((other) => other.kind === "recovered" && other.timeNs > timeNs);

function meaningOf(happened: DeviceHealth, others: readonly DeviceHealth[]): XidMeaning | null {
  const { kind, code, count } = happened;
  const number = code === null ? "" : ` (code ${code})`;
  if ((kind === "lost" || kind === "unreachable") && cameBack(happened, others)) {
    return {
      severity: "warning",
      text: `The device could not be reached for a while${number}. Samples of that time are missing.`,
      remediation: ["Instances may have been recreated or the driver reloaded. Avoid both during measurements."],
    };
  }
  switch (kind) {
    case "lost":
      return {
        severity: "critical",
        text: `The GPU was lost${number}: the driver no longer reaches it. ${GONE}`,
        remediation: [
          "Look for an Xid in the kernel's log (dmesg), and check power, temperature and the slot. The machine must be restarted.",
          AGAIN,
        ],
      };
    case "reset-required":
      return {
        severity: "critical",
        text: `The GPU needs a reset${number} before anything can use it again. ${GONE}`,
        remediation: ["Stop all processes that use it and run nvidia-smi --gpu-reset, or restart the machine.", AGAIN],
      };
    case "xid": {
      const xid = xidMeaning(code);
      return { ...xid, remediation: [...xid.remediation, AGAIN] };
    }
    case "ecc":
      return {
        severity: "critical",
        text: "The GPU's memory had an uncorrectable ECC error.",
        remediation: ["Reset the GPU so that the broken rows are remapped. Replace it if the error recurs.", AGAIN],
      };
    case "row-remap":
      return {
        severity: "warning",
        text: "The GPU remapped broken rows of its memory. This takes effect at the next reset and may change its size.",
        remediation: ["Reset the GPU soon, and check whether it remaps more rows (nvidia-smi -q -d ROW_REMAPPER)."],
      };
    case "unavailable":
      return {
        severity: "critical",
        text: `The GPU became unavailable${number}. ${GONE}`,
        remediation: ["Look for the reason in the kernel's log (dmesg).", AGAIN],
      };
    case "driver-mismatch":
      return {
        severity: "critical",
        text: `The driver's library was replaced under the running driver${number}, as by an update. Samples of all its GPUs end there.`,
        remediation: ["Restart the machine or reload the driver. Disable automatic driver updates on runners.", AGAIN],
      };
    case "unreachable":
      return {
        severity: "critical",
        text: `The driver stopped answering${number}, as in a container that lost its GPU. Samples of its GPUs end there.`,
        remediation: [
          "In a container: a systemctl daemon-reload on the host takes the GPU from running containers where systemd manages their cgroups. Restart the container. To prevent it, name the devices explicitly (--device=/dev/nvidia0 …) or use CDI.",
          AGAIN,
        ],
      };
    case "capacity-changed":
      return {
        severity: "warning",
        text: `The size of the device's memory changed${code === null ? "" : ` to ${formatBytes(code)}`} during the measurement.`,
        remediation: [
          "Rows were remapped or an instance was changed: shares of the device before and after are not comparable.",
        ],
      };
    case "count-changed":
      return {
        severity: "warning",
        text: `The driver listed ${code === null ? "another number of" : code} device${code === 1 ? "" : "s"} from then on: one was added or removed.`,
        remediation: ["Look into the kernel's log (dmesg). Instances may have been recreated, and their series end."],
      };
    case "stalled":
      return {
        severity: "warning",
        text: stalledText(
          count,
          others.find((other) => other.kind === "recovered"),
        ),
        remediation: [
          "Steps of that time were probably slow as well: look for a long driver call, an overloaded host or a failing GPU.",
        ],
      };
    case "recovered":
      if (others.some((other) => other.kind === "stalled")) return null;
      return {
        severity: "info",
        text: `The driver failed${during(code)} and answered again. Samples of that time are missing.`,
        remediation: ["The marks of the recording contain the error."],
      };
    default:
      return kind satisfies never;
  }
}

/** Device events during the measurement: lost, failing, unreachable, not answering. */
export function healthFindings({ health = [] }: Recording): Finding[] {
  return health.flatMap((happened): Finding[] => {
    const { kind, rank, device, timeNs, code, count } = happened;
    const others = health.filter((other) => other.rank === rank && other.device === device);
    const meaning = meaningOf(happened, others);
    if (meaning === null) return [];
    const times = count > 1 ? ` It occurred ${count} times.` : "";
    return [
      {
        classification: `device_${kind.replaceAll("-", "_")}`,
        severity: meaning.severity,
        confidence: 1,
        rank,
        device: device === ALL_DEVICES ? null : device,
        metric: null,
        evidence: { time_s: timeNs / 1e9, code, count },
        description: `${formatDuration(timeNs / 1e9)} after the start: ${meaning.text}${times}`,
        remediation: meaning.remediation,
      },
    ];
  });
}

/** Consequence of a device event for the measurement. */
interface XidMeaning {
  readonly severity: Severity;
  readonly text: string;
  readonly remediation: readonly string[];
}

const PROGRAM = "Usually an error of the program: run it under compute-sanitizer.";
const HARDWARE = "Stop using the GPU until it was reset and tested. Replace it if the error recurs.";
const DRIVER = "Update the driver. Restart the machine if the GPU no longer answers.";

/** Common numbers, from NVIDIA's list of Xid errors. */
const KNOWN: Readonly<Record<number, readonly [severity: Severity, what: string, hint: string]>> = {
  13: ["warning", "a kernel of the program faulted, for example by an access out of bounds", PROGRAM],
  31: ["warning", "the program used an address of GPU memory that is not mapped", PROGRAM],
  43: ["warning", "the program's work on the GPU was stopped after an error of the program", PROGRAM],
  45: [
    "info",
    "the driver removed a program's work, as after a kill or an earlier error",
    "Look for an earlier error.",
  ],
  48: ["critical", "GPU memory had an uncorrectable double-bit error", HARDWARE],
  63: ["warning", "a broken page or row of GPU memory was recorded for retirement", HARDWARE],
  64: ["critical", "a broken page or row of GPU memory could not be recorded for retirement", HARDWARE],
  74: [
    "critical",
    "a link between GPUs (NVLink) failed",
    "Check the links with nvidia-smi nvlink -s, and reset all GPUs on them.",
  ],
  79: ["critical", "the GPU fell off the bus", "Check power, temperature and the slot. The machine must be restarted."],
  92: ["warning", "single-bit errors of GPU memory are unusually frequent", HARDWARE],
  94: ["warning", "an uncorrectable memory error was contained: the program that used the page was ended", HARDWARE],
  95: [
    "critical",
    "an uncorrectable memory error could not be contained: all programs on the GPU are affected",
    HARDWARE,
  ],
  119: ["critical", "the GPU's management processor (GSP) did not answer in time", DRIVER],
  120: ["critical", "the GPU's management processor (GSP) reported an error", DRIVER],
};

/** Meaning of an Xid number; only the number if it is not common. */
function xidMeaning(code: number | null): XidMeaning {
  const known = code === null ? undefined : KNOWN[code];
  if (known === undefined) {
    return {
      severity: "warning",
      text: code === null ? "The driver reported an error (Xid)." : `The driver reported Xid ${code}.`,
      remediation: ["Look up the number in NVIDIA's list of Xid errors, and check the kernel's log (dmesg)."],
    };
  }
  const [severity, what, hint] = known;
  return { severity, text: `The driver reported Xid ${code}: ${what}.`, remediation: [hint] };
}
