import type { Severity } from "../series/document.ts";

/** Consequence of a device event for the measurement. */
export interface Meaning {
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
export function xidMeaning(code: number | null): Meaning {
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
