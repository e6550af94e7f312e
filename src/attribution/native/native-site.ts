import path from "node:path";
import { helperEnvironment, helperPrograms, runChild } from "../../core/process/child.ts";
import type { Frame } from "../../snapshot/model/frames.ts";
import { type ElfSymbols, readElfSymbols } from "./elf-symbols.ts";
import type { ModuleOffset } from "./native-owner.ts";

/** Names of the functions that contain places, as the linker has them; null when no symbol covers one. */
export function symbolNames(): (place: ModuleOffset) => string | null {
  const files = new Map<string, ElfSymbols | null>();
  return ({ path: file, offset }) => {
    const symbols = files.has(file) ? (files.get(file) ?? null) : readElfSymbols(file);
    files.set(file, symbols);
    const address = symbols?.addressOf(offset) ?? null;
    return symbols === null || address === null ? null : symbols.functionAt(address);
  };
}

/** That of one place. */
export const symbolAt = (place: ModuleOffset): string | null => symbolNames()(place);

/** Sources of compilers and of their standard libraries, which what is inlined into the program's functions names. */
const SYSTEM_SOURCE = /^\/(?:usr\/(?:local\/)?(?:include|lib|src)|rustc)\/|\/\.(?:cargo\/registry|rustup)\//;
/** Functions of C++'s and Rust's standard libraries that are compiled into a program, as the linker names them. */
const STANDARD =
  /^_Z(?:n[wa]|(?:NK?)?(?:S[abst]|9__gnu_cxx|5alloc|4core|3std))|^_R(?:I|N[a-zA-Z]|[MXY](?:s[0-9A-Za-z]*_)?)*C(?:s[0-9A-Za-z]*_)?(?:5alloc|4core|3std)/;
const ALLOCATOR = /alloc|strdup|^operator new/i;

/** Whether a function only makes memory for its caller, which is what keeps it: `xmalloc`, `std::vector::push_back`. */
export function passesMemoryOn(symbol: string): boolean {
  const name = /^_[ZR]/.test(symbol) ? mangledName(symbol) : symbol.replace(/[<(].*/, "");
  return STANDARD.test(symbol) || ALLOCATOR.test(name);
}

/** "take" of `Pool::take`, by the rules of C++; "" for a template's. */
function mangledName(symbol: string): string {
  let [name, rest] = ["", symbol.replace(/^_Z(?:L|NK?)?|17h[0-9a-f]{16}E$/g, "")];
  for (let length = Number.parseInt(rest, 10); length > 0; length = Number.parseInt(rest, 10)) {
    const begin = String(length).length;
    [name, rest] = [rest.slice(begin, begin + length), rest.slice(begin + length)];
  }
  return name;
}

/**
 * The source line of a place of a file, by its debug information and `addr2line`; null without either. Of functions
 * inlined there it is the innermost that is the program's own, and null where the compiler's headers are all there is.
 */
export async function sourceAt(file: string, offset: number): Promise<Frame | null> {
  const program = helperPrograms().find("addr2line");
  const address = readElfSymbols(file)?.addressOf(offset) ?? null;
  if (program === null || address === null) return null;
  const args = ["-C", "-f", "-i", "-e", file, `0x${address.toString(16)}`];
  const { end, stdout } = await runChild(program.path, args, { env: helperEnvironment(), timeoutMs: 20_000 });
  if (end.kind !== "exit" || end.code !== 0) return null;
  const known = /^(.*)\n(\/.+):([1-9]\d{0,8})(?: \(discriminator \d+\))?$/gm;
  const frames = [...stdout.matchAll(known)].map(([, name = "", source = "", line]): Frame => {
    return { file: path.normalize(source), line: Number(line), function: name === "??" ? "" : name };
  });
  const own = frames.filter(({ file: source }) => !SYSTEM_SOURCE.test(source));
  return own.find(({ function: name }) => !passesMemoryOn(name)) ?? own[0] ?? null;
}
