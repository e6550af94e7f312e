import { closeSync, openSync, readSync } from "node:fs";
import path from "node:path";

const isPython = (word: string): boolean => /^(python|pypy)[\d.]*$/.test(path.basename(word));

/** The first of -I, -E and -S in a word of flags; "end" when the interpreter's own flags end with it. */
function flagIn(word: string): string | "end" | null {
  for (const letter of word.slice(1)) {
    if ("IES".includes(letter)) return `-${letter}`;
    if ("cm".includes(letter)) return "end";
    // The rest of the word is their value.
    if ("XW".includes(letter)) return null;
  }
  return null;
}

/** The flag under which this Python command line ignores what loads the probe, "-I" for instance; null when there is none. */
export function isolatingFlag(argv: readonly string[]): string | null {
  const [program, ...rest] = argv;
  if (program === undefined || !isPython(program)) return null;
  for (let i = 0; i < rest.length; i++) {
    const word = rest[i]!;
    if (!word.startsWith("-") || word === "-" || word === "--") return null;
    if (word === "-X" || word === "-W" || word === "--check-hash-based-pycs") {
      i++;
      continue;
    }
    const flag = word.startsWith("--") ? null : flagIn(word);
    if (flag !== null) return flag === "end" ? null : flag;
  }
  return null;
}

/** Python command lines within a shell script, as far as they can be seen without a shell. */
function pythonLines(script: string): string[][] {
  return script.split(/[\n;&|()]+/).flatMap((part) => {
    const words = part.trim().split(/\s+/);
    const at = words.findIndex(isPython);
    return at < 0 ? [] : [words.slice(at)];
  });
}

/** The interpreter line of a script file as words; empty when the file is none. */
function shebang(file: string): string[] {
  const head = Buffer.alloc(256);
  try {
    const descriptor = openSync(file, "r");
    try {
      const size = readSync(descriptor, head, 0, head.length, 0);
      const [line = ""] = head.toString("latin1", 0, size).split("\n");
      return line.startsWith("#!") ? line.slice(2).trim().split(/\s+/) : [];
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return [];
  }
}

/** How a command would start Python. */
export type PythonUse =
  | { readonly kind: "none" }
  | { readonly kind: "python" }
  | { readonly kind: "isolated"; readonly flag: string };

/**
 * Whether a command starts Python by itself, and with a flag that keeps the probe out.
 * @param executable the file that `argv[0]` is, when it was found
 */
export function pythonUse(argv: readonly string[], executable: string | null): PythonUse {
  const script = argv[0] === "sh" && argv[1] === "-c" ? (argv[2] ?? "") : null;
  // Behind `env`, `nice` and the like, too.
  const named = argv.findIndex(isPython);
  const lines = script === null ? (named < 0 ? [] : [argv.slice(named)]) : pythonLines(script);
  if (script === null && executable !== null) {
    const words = shebang(executable);
    const at = words.findIndex(isPython);
    if (at >= 0) lines.push(words.slice(at));
  }
  if (lines.length === 0) return { kind: "none" };
  const flags = lines.map(isolatingFlag);
  // Where one of them could have been seen, none of the flags explains that nothing was.
  const [flag] = flags;
  return flag && flags.every((one) => one !== null) ? { kind: "isolated", flag } : { kind: "python" };
}
