import { MAX_MESSAGE } from "../recording/out-of-memory.ts";

/** Reliability. `report`: a form that only a failing runtime writes. `words`: a message that any program may print. */
type Wording = "report" | "words";

/** An out-of-memory message in the output. */
export interface OutputMessage {
  readonly runtime: string;
  readonly wording: Wording;
  readonly exception: string | null;
  /** The line, without the prefix of a launcher, at most {@link MAX_MESSAGE} characters. */
  readonly text: string;
  /** 0-based number of the line. */
  readonly line: number;
  /** Characters between the end of this line and the end of the text. */
  readonly fromEnd: number;
}

interface Rule {
  readonly runtime: string;
  readonly pattern: RegExp;
  readonly wording: Wording;
  /** Name of the error where the pattern has no group `exception`. */
  readonly exception?: string;
}

/** Lines are truncated to this length before matching, so that the time stays linear. */
const LINE_CHARACTERS = 4096;
/** Quick test that excludes most lines of any output. */
const WORTH_A_LOOK = /memory|alloc|OOM|oom[-_ ]?kill|exhausted|Cannot allocate/i;
/** Prefixes of launchers: "[rank0]: ", "[1,2]<stderr>:", "2: " (srun -l), "(pid=12) ". */
const PREFIX = /^(?:\[[^\]]{1,60}\](?:<[a-z]+>)?:? ?|\d{1,6}: |\([^)]{1,60}pid=\d+[^)]{0,40}\) )/;

/**
 * Messages of runtimes, most specific first. All were taken from the programs themselves: PyTorch 1.13 to 2.9, NumPy,
 * TensorFlow and XLA, libstdc++ and libc++, V8, HotSpot, Go, Rust, glibc tools, R, Julia, PHP, Slurm.
 */
const RULES: readonly Rule[] = [
  {
    runtime: "torch",
    pattern:
      /(?:^|(?<exception>[A-Za-z_][\w.]{0,80}): ?)(?:CUDA|HIP|XPU|NPU|MPS backend|MPS) out of memory\b.{0,400}\b[Tt]ried to allocate /,
    wording: "report",
    exception: "OutOfMemoryError",
  },
  {
    runtime: "torch",
    pattern: /DefaultCPUAllocator: (?:can't allocate memory|not enough memory): you tried to allocate \d/,
    wording: "report",
    exception: "RuntimeError",
  },
  {
    runtime: "numpy",
    pattern: /^(?<exception>[\w.]{0,60}(?:_ArrayMemoryError|MemoryError)): Unable to allocate [\d.]+ \w+ for an array/,
    wording: "report",
  },
  {
    runtime: "tensorflow",
    pattern: /(?:ResourceExhaustedError|RESOURCE_EXHAUSTED|Resource exhausted)\b.{0,300}\bOOM when allocating tensor/,
    wording: "report",
    exception: "ResourceExhaustedError",
  },
  {
    runtime: "xla",
    pattern:
      /RESOURCE_EXHAUSTED: (?:Out of memory|Failed to allocate|XLA:\w+ .{0,80}[Rr]an out of memory|.{0,80}Attempting to (?:reserve|allocate))/,
    wording: "report",
    exception: "XlaRuntimeError",
  },
  { runtime: "node", pattern: /^FATAL ERROR: .{0,200}(?:heap out of memory|process out of memory)/, wording: "report" },
  {
    runtime: "node",
    pattern: /^(?:Uncaught )?(?<exception>RangeError): Array buffer allocation failed/,
    wording: "report",
  },
  {
    runtime: "java",
    pattern:
      /(?<exception>java\.lang\.OutOfMemoryError)(?:$|: (?:Java heap|GC overhead|Metaspace|Compressed class|Direct buffer|Cannot reserve|Requested array|Map failed))/,
    wording: "report",
  },
  { runtime: "java", pattern: /^# There is insufficient memory for the Java Runtime/, wording: "report" },
  {
    runtime: "c++",
    pattern:
      /(?:after throwing an instance of '|uncaught exception of type |what\(\): {1,4}|Error: )(?<exception>std::bad_alloc)\b/,
    wording: "report",
  },
  { runtime: "go", pattern: /^runtime: out of memory: cannot allocate \d+-byte block/, wording: "report" },
  {
    runtime: "go",
    pattern: /^fatal error: (?:runtime: )?(?:out of memory|cannot allocate memory)\s*$/,
    wording: "report",
  },
  { runtime: "rust", pattern: /^memory allocation of \d+ bytes failed/, wording: "report" },
  { runtime: "dotnet", pattern: /(?<exception>System\.OutOfMemoryException)\b/, wording: "report" },
  {
    runtime: "php",
    pattern: /Allowed memory size of \d+ bytes exhausted \(tried to allocate \d+ bytes\)/,
    wording: "report",
  },
  { runtime: "r", pattern: /cannot allocate vector of size [\d.]+ [KMG]b/, wording: "report" },
  { runtime: "julia", pattern: /^ERROR: (?:LoadError: )?(?<exception>OutOfMemoryError)\(\)/, wording: "report" },
  { runtime: "ruby", pattern: /failed to allocate memory \((?<exception>NoMemoryError)\)/, wording: "report" },
  {
    runtime: "c",
    pattern:
      /(?:virtual memory exhausted|: memory exhausted|out of memory allocating \d+ bytes|\bx(?:re)?alloc: cannot allocate \d+ bytes|\bxmalloc: cannot allocate \d+ bytes)/,
    wording: "report",
  },
  { runtime: "kernel", pattern: /slurmstepd: error: .{0,80}oom[_-]kill event/i, wording: "report" },
  // An exception's line. Below a stack it is a report, see findMessages.
  {
    runtime: "torch",
    pattern: /^(?<exception>torch(?:\.\w{1,40}){0,4}\.OutOfMemoryError)(?:$|:)/,
    wording: "words",
  },
  { runtime: "python", pattern: /^(?<exception>(?:[A-Za-z_]\w*\.){0,6}MemoryError)(?:$|:)/, wording: "words" },
  {
    runtime: "python",
    pattern: /^(?<exception>OSError|BlockingIOError|(?:[A-Za-z_]\w*\.){0,6}\w{0,40}Error): \[Errno 12\] /,
    wording: "words",
  },
  {
    runtime: "torch",
    pattern:
      /(?:^|(?<exception>[A-Za-z_][\w.]{0,80}(?:Error|Exception)): ?)(?:CUDA|HIP|XPU|NPU|MPS backend) (?:error: )?out of memory\b/,
    wording: "words",
  },
  {
    runtime: "torch",
    pattern:
      /\b(?<exception>CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|hipErrorOutOfMemory|CUBLAS_STATUS_ALLOC_FAILED)\b/,
    wording: "words",
  },
  { runtime: "c", pattern: /\bCannot allocate memory\b/, wording: "words" },
  { runtime: "c", pattern: /^(?:[\w./-]{1,80}: )?(?:fatal )?(?:error: )?[Oo]ut of memory[.!]?\s*$/, wording: "words" },
];

/** A line of a Python, Node or Java stack. The lines directly before and after a stack belong to the error. */
const STACK_LINE =
  /^\s+(?:File ".{1,400}", line \d+|at |\.\.\. \d+ more)|^Traceback \(most recent call last\):|^\s{4,}\S/;

/** All out-of-memory messages of the output, which is untrusted, in order; linear in its length. */
export function findMessages(text: string): OutputMessage[] {
  const found: OutputMessage[] = [];
  let before = "";
  let start = 0;
  for (let line = 0; start <= text.length; line++) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    const whole = text.slice(start, Math.min(end, start + LINE_CHARACTERS)).replace(/\r$/, "");
    const own = whole.replace(PREFIX, "");
    const message = WORTH_A_LOOK.test(own) ? messageOf(own, before) : null;
    if (message !== null) found.push({ ...message, line, fromEnd: text.length - end });
    if (own.trim() !== "") before = own;
    start = end + 1;
  }
  return found;
}

function messageOf(line: string, before: string): Omit<OutputMessage, "line" | "fromEnd"> | null {
  for (const { runtime, pattern, wording, exception } of RULES) {
    const match = pattern.exec(line);
    if (match === null) continue;
    const name = match.groups?.exception ?? exception ?? null;
    const thrown = wording === "words" && match.groups?.exception !== undefined && STACK_LINE.test(before);
    return {
      runtime,
      wording: thrown ? "report" : wording,
      exception: name,
      text: line.trim().slice(0, MAX_MESSAGE),
    };
  }
  return null;
}
