import { mkdirSync } from "node:fs";
import path from "node:path";
import { temporary } from "../../testing/temporary.ts";

let all: string | null = null;
let count = 0;

/** A fresh directory with a short name, which snapshots of texts contain. */
export function ownDirectory(name: string): string {
  all ??= temporary("devices");
  count += 1;
  const directory = path.join(all, `${name}-${count}`);
  mkdirSync(directory);
  return directory;
}
