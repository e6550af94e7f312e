import path from "node:path";
import { hideSecrets } from "../../core/process/hide-secrets.ts";
import { readText } from "../../sampler/proc.ts";

const INTERPRETER = /^(?:python[\d.]*|pypy[\d.]*|node|nodejs|ruby|perl|php|bash|sh|dash|zsh|java)$/;
const SCRIPT = /\.(?:py|js|mjs|cjs|ts|rb|pl|php|sh|jar)$/;
/** Options of interpreters whose next word is not the script. */
const TAKES_VALUE = /^(?:-r|--require|--import|--loader|-W|-X|-I)$/;
const MAX_CHARACTERS = 60;

/**
 * The program of a command line: its file's name, or that of the script which an interpreter runs; "" for an
 * interpreter without one, as the children of Python's `multiprocessing` are. A title that a process gave itself may
 * hold a secret, which is masked.
 */
export function programName(argv: readonly string[]): string {
  const [file = "", ...args] = hideSecrets(argv);
  const program = path.basename(file.split(" ")[0] ?? "");
  if (!INTERPRETER.test(program)) return path.basename(file).slice(0, MAX_CHARACTERS);
  const code = args.findIndex((arg) => /^-(?:c|e|-eval)$/.test(arg));
  const own = args.slice(0, code < 0 ? undefined : code).filter((_, i) => !TAKES_VALUE.test(args[i - 1] ?? ""));
  const moduleAt = own.indexOf("-m");
  const script =
    moduleAt < 0 ? (own.find((arg) => SCRIPT.test(arg)) ?? own.find((arg) => !/^-/.test(arg))) : own[moduleAt + 1];
  return path.basename(script ?? "").slice(0, MAX_CHARACTERS);
}

/** Programs of the processes of a run, by pid; one that lives shorter than the time between two looks has none. */
export class ProgramNames {
  readonly #names = new Map<number, string>();
  #looks = 0;

  /**
   * Read again each time: a process that was seen before its `exec` had another name, as the command itself has at the
   * first look.
   */
  look(pids: readonly number[]): void {
    this.#looks++;
    for (const pid of this.#looks === 1 ? [] : pids) {
      const line = readText(`/proc/${pid}/cmdline`);
      // A zombie has no command line.
      if (line !== null && line !== "") this.#names.set(pid, programName(line.replace(/\0+$/, "").split("\0")));
    }
  }

  all(): [number, string][] {
    return [...this.#names];
  }

  get(pid: number): string | undefined {
    return this.#names.get(pid);
  }
}
