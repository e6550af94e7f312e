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

/** The source line of a place of a file, by its debug information and `addr2line`; null without either. */
export async function sourceAt(file: string, offset: number): Promise<Frame | null> {
  const program = helperPrograms().find("addr2line");
  const address = readElfSymbols(file)?.addressOf(offset) ?? null;
  if (program === null || address === null) return null;
  const args = ["-C", "-f", "-e", file, `0x${address.toString(16)}`];
  const { end, stdout } = await runChild(program.path, args, { env: helperEnvironment(), timeoutMs: 20_000 });
  const [name = "", location = ""] = stdout.split("\n");
  const [, source, line] = /^(\/.+):([1-9]\d{0,8})(?: \(discriminator \d+\))?$/.exec(location) ?? [];
  if (end.kind !== "exit" || end.code !== 0 || source === undefined || line === undefined) return null;
  return { file: path.normalize(source), line: Number(line), function: name === "??" ? "" : name };
}
