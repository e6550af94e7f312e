import type { Severity } from "../document.ts";

/** What an Xid says. */
export interface XidMeaning {
  readonly severity: Severity;
  readonly text: string;
  readonly remediation: readonly string[];
}

const PROGRAM = "Most often the program's own fault: run it under compute-sanitizer.";
const HARDWARE = "Take the GPU out of use until it was reset and tested; exchange it when the error comes back.";
const DRIVER = "Update the driver; restart the machine if the GPU no longer answers.";

/** Numbers that are well known, by NVIDIA's list of Xid errors. */
const KNOWN: Readonly<Record<number, readonly [severity: Severity, what: string, hint: string]>> = {
  13: ["warning", "a kernel of the program faulted, for example by an access out of bounds", PROGRAM],
  31: ["warning", "the program used an address of GPU memory that is not mapped", PROGRAM],
  43: ["warning", "the program's work on the GPU was stopped after a fault of its own", PROGRAM],
  45: [
    "info",
    "the driver cleared away a program's work, as it does when the program is killed or has failed before",
    "Look for what came before it.",
  ],
  48: ["critical", "GPU memory had an error of two bits that could not be corrected", HARDWARE],
  63: ["warning", "a broken page or row of GPU memory was noted for replacement", HARDWARE],
  64: ["critical", "a broken page or row of GPU memory could not be noted for replacement", HARDWARE],
  74: [
    "critical",
    "a link between GPUs (NVLink) failed",
    "Look at the links with nvidia-smi nvlink -s; reset all GPUs on them.",
  ],
  79: [
    "critical",
    "the GPU fell off the bus",
    "Look at power, temperature and the slot; the machine has to be restarted.",
  ],
  92: ["warning", "single-bit errors of GPU memory come unusually often", HARDWARE],
  94: ["warning", "an uncorrectable memory error was contained: the program that used the page was ended", HARDWARE],
  95: [
    "critical",
    "an uncorrectable memory error could not be contained: all programs on the GPU are affected",
    HARDWARE,
  ],
  119: ["critical", "the GPU's own management processor (GSP) did not answer in time", DRIVER],
  120: ["critical", "the GPU's own management processor (GSP) reported an error", DRIVER],
};

/** The meaning of an Xid number; of one that is not well known nothing but the number. */
export function xidMeaning(code: number | null): XidMeaning {
  const known = code === null ? undefined : KNOWN[code];
  if (known === undefined) {
    return {
      severity: "warning",
      text: code === null ? "The driver reported an error (Xid)." : `The driver reported Xid ${code}.`,
      remediation: ["Look the number up in NVIDIA's list of Xid errors, and into the kernel's log (dmesg)."],
    };
  }
  const [severity, what, hint] = known;
  return { severity, text: `The driver reported Xid ${code}: ${what}.`, remediation: [hint] };
}
