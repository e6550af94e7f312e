import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** A program that does as much work as its last argument says. */
export interface Program {
  readonly name: string;
  readonly argv: readonly string[];
  /** Units of work for the first trial of how long a unit takes. */
  readonly trial: number;
}

const own = (name: string): string => fileURLToPath(new URL(`programs/${name}`, import.meta.url));

/** The programs that can run here, and why the others cannot. */
export function programs(
  python: string,
  directory: string,
): readonly (Program | { readonly name: string; readonly skipped: string })[] {
  const [training, service, work] = ["Python training loop", "Node service", "C program"] as const;
  const compiled = path.join(directory, "work");
  const hasTorch = spawnSync(python, ["-c", "import torch"]).status === 0;
  const hasCompiler = spawnSync("gcc", ["-O2", "-o", compiled, own("work.c")]).status === 0;
  return [
    hasTorch
      ? { name: training, argv: [python, own("train.py")], trial: 2000 }
      : { name: training, skipped: `${python} has no PyTorch` },
    { name: service, argv: [process.execPath, own("service.cjs")], trial: 1000 },
    hasCompiler ? { name: work, argv: [compiled], trial: 500 } : { name: work, skipped: "no gcc" },
  ];
}
