import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { packageRoot } from "../src/core/package-root.ts";

/** A directory as the page describes it: the leak lab, and `stormlog-gate` and `python3` on the PATH. */
export class WalkthroughDirectory {
  readonly directory: string;
  readonly #bin: string;

  /** @param python the program that the page calls python3; it has PyTorch */
  constructor(python: string) {
    const top = mkdtempSync(path.join(tmpdir(), "stormlog-gate-walkthrough-"));
    this.directory = path.join(top, "work");
    this.#bin = path.join(top, "bin");
    mkdirSync(this.directory);
    mkdirSync(this.#bin);
    cpSync(path.join(packageRoot(), "leak-lab"), path.join(this.directory, "leak-lab"), { recursive: true });
    // As npm installs it: the commands that it prints then start with its name.
    symlinkSync(path.join(packageRoot(), "dist", "cli.js"), path.join(this.#bin, "stormlog-gate"));
    this.#program("python3", [python]);
  }

  #program(name: string, command: readonly string[]): void {
    const file = path.join(this.#bin, name);
    writeFileSync(file, `#!/bin/sh\nexec ${command.map((word) => `'${word}'`).join(" ")} "$@"\n`);
    chmodSync(file, 0o755);
  }

  /** The output of a command on both streams, in order, with a last line for a status other than 0. */
  run(command: string): string {
    const { HOME, USER, LANG } = process.env;
    const env = {
      HOME,
      USER,
      LANG,
      PATH: `${this.#bin}:${process.env.PATH}`,
      NO_COLOR: "1",
      PYTHONDONTWRITEBYTECODE: "1",
    };
    const { stdout, status, signal } = spawnSync("sh", ["-c", `{ ${command}\n} 2>&1`], {
      cwd: this.directory,
      encoding: "utf8",
      env,
    });
    const text = stdout.replaceAll(`${this.directory}${path.sep}`, "").trimEnd();
    return status === 0 ? text : `${text}\n(exit status ${status ?? signal})`;
  }

  remove(): void {
    rmSync(path.dirname(this.directory), { recursive: true, force: true });
  }
}

/** The first of the usual Pythons that has PyTorch; null where none has. */
export function pythonWithTorch(): string | null {
  const names = [process.env.STORMLOG_TEST_TORCH_PYTHON, "python3", "/usr/bin/python3"];
  for (const name of names) {
    if (name === undefined || spawnSync(name, ["-c", "import torch"]).status !== 0) continue;
    return execFileSync(name, ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).trim();
  }
  return null;
}
