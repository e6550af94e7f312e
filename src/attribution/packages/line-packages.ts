import path from "node:path";
import type { LinePackage } from "../../analysis/series/document.ts";
import type { AttributedLine } from "../../snapshot/growth/attributed-line.ts";
import { type Frame, relativePath } from "../../snapshot/model/frames.ts";
import { isPackageFile, packagesBy } from "./installed-packages.ts";

/** A frame of a package, and where it is on the stack of a line. */
export interface PackageFrame {
  readonly frame: Frame;
  readonly relation: LinePackage["relation"];
}

/** PyTorch allocates every tensor, so its frames below an allocating line do not show where a leak lies. */
export const PYTORCH = /\/(?:site|dist)-packages\/(?:torch|torchgen|functorch)\//;

type StackedLine = Pick<AttributedLine, "file" | "line" | "user" | "placed" | "keptBy" | "stack">;

/**
 * The frame of a package that is nearest to the allocation, or to the growth of what keeps the memory: below the user's
 * line, or, where no frame is the user's, anywhere. Null where what keeps the memory is known and the stack is another.
 */
export function packageFrame(line: StackedLine): PackageFrame | null {
  const isLine = (frame: Frame): boolean => frame.file === line.file && frame.line === line.line;
  if (line.user && line.placed === "allocated" && line.keptBy !== null) return null;
  const at = line.stack.findIndex(isLine);
  const below = line.user ? line.stack.slice(0, Math.max(0, at)) : line.stack;
  const frame = below.find(({ file }) => {
    const plain = relativePath(file, null);
    return isPackageFile(plain) && !(line.user && line.placed === "allocated" && PYTORCH.test(plain));
  });
  if (frame === undefined) return null;
  return { frame, relation: isLine(frame) ? "contains" : line.user ? "called" : "calls" };
}

/**
 * The installed packages that lines belong to; a line without one is absent.
 * @param cwd working directory of the command, in which relative names of files are resolved
 * @param pipReport absolute path of pip's installation report; null for none
 */
export function linePackages<T extends StackedLine>(
  lines: readonly T[],
  cwd: string,
  pipReport: string | null = null,
): ReadonlyMap<T, LinePackage> {
  const files = lines.flatMap((line) => {
    const found = packageFrame(line);
    if (found === null) return [];
    const file = path.resolve(cwd, relativePath(found.frame.file, null));
    return [{ of: line, file, relation: found.relation }];
  });
  return packagesBy(files, pipReport);
}
