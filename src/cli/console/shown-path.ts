import path from "node:path";

/** A path as a person reads it: from the working directory when it lies below it, else absolute. */
export function shownPath(absolute: string): string {
  const relative = path.relative(process.cwd(), absolute);
  if (relative === "") return ".";
  return relative.split(path.sep)[0] === ".." ? absolute : relative;
}
