import path from "node:path";
import { readHead } from "../../core/files.ts";

const isPython = (arg: string): boolean => /^(python|pypy)[\d.]*$/.test(path.basename(arg));

/** The first of -I, -E and -S in an argument with flags; "end" when the interpreter's flags end with it. */
function flagIn(arg: string): string | "end" | null {
  for (const letter of arg.slice(1)) {
    if ("IES".includes(letter)) return `-${letter}`;
    if ("cm".includes(letter)) return "end";
    // The rest of the argument is their value.
    if ("XW".includes(letter)) return null;
  }
  return null;
}

/** The flag under which a Python command line ignores the probe's loader, such as "-I"; null when there is none. */
export function isolatingFlag(argv: readonly string[]): string | null {
  const [program, ...rest] = argv;
  if (program === undefined || !isPython(program)) return null;
  for (let i = 0; i < rest.length; i++) {
    const arg = rest[i]!;
    if (!arg.startsWith("-") || arg === "-" || arg === "--") return null;
    if (arg === "-X" || arg === "-W" || arg === "--check-hash-based-pycs") {
      i++;
      continue;
    }
    const flag = arg.startsWith("--") ? null : flagIn(arg);
    if (flag !== null) return flag === "end" ? null : flag;
  }
  return null;
}

/** Python command lines in a shell script, as far as they can be found without a shell. */
function pythonLines(script: string): string[][] {
  return script.split(/[\n;&|()]+/).flatMap((part) => {
    const args = part.trim().split(/\s+/);
    const at = args.findIndex(isPython);
    return at < 0 ? [] : [args.slice(at)];
  });
}

/** The interpreter line of a script file, split at blanks; empty when the file has none. */
function shebang(file: string): string[] {
  try {
    const [line = ""] = readHead(file, 256).toString("latin1").split("\n");
    return line.startsWith("#!") ? line.slice(2).trim().split(/\s+/) : [];
  } catch {
    return [];
  }
}

/** How a command would start Python. */
export type PythonUse =
  | { readonly kind: "none" }
  | { readonly kind: "python" }
  | { readonly kind: "isolated"; readonly flag: string };

/** Whether a command starts Python, and with a flag that excludes the probe. `executable` is the file of `argv[0]`. */
export function pythonUse(argv: readonly string[], executable: string | null): PythonUse {
  const script = argv[0] === "sh" && argv[1] === "-c" ? (argv[2] ?? "") : null;
  // It may follow `env`, `nice` and the like.
  const named = argv.findIndex(isPython);
  const lines = script === null ? (named < 0 ? [] : [argv.slice(named)]) : pythonLines(script);
  if (script === null && executable !== null) {
    const args = shebang(executable);
    const at = args.findIndex(isPython);
    if (at >= 0) lines.push(args.slice(at));
  }
  if (lines.length === 0) return { kind: "none" };
  const flags = lines.map(isolatingFlag);
  // A flag explains a missing probe only when every Python command has one.
  const [flag] = flags;
  return flag && flags.every((one) => one !== null) ? { kind: "isolated", flag } : { kind: "python" };
}
