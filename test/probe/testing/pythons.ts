import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import path from "node:path";

export interface Python {
  readonly executable: string;
  readonly major: number;
  readonly minor: number;
}

const NAMES = ["python3", ...Array.from({ length: 7 }, (_, i) => `python3.${8 + i}`)];
/** Further interpreters, or directories of them (`<directory>/<version>/bin/python`), as PATH lists directories. */
const MORE = "STORMLOG_GATE_TEST_PYTHONS";

const ASK = "import sys; sys.stdout.write('%d %d %s' % (sys.version_info[0], sys.version_info[1], sys.executable))";

function asked(file: string): Python | null {
  const { stdout, status } = spawnSync(file, ["-S", "-c", ASK], { encoding: "utf8", timeout: 20_000 });
  const [major, minor, ...executable] = (stdout ?? "").split(" ");
  if (status !== 0 || !executable.join(" ").startsWith("/")) return null;
  return { executable: executable.join(" "), major: Number(major), minor: Number(minor) };
}

function candidates(): string[] {
  const directories = (process.env.PATH ?? "").split(path.delimiter).filter((directory) => directory !== "");
  const named = directories.flatMap((directory) => NAMES.map((name) => path.join(directory, name)));
  const more = (process.env[MORE] ?? "").split(path.delimiter).filter((entry) => entry !== "" && existsSync(entry));
  const listed = more.flatMap((entry) =>
    statSync(entry).isDirectory()
      ? readdirSync(entry).map((version) => path.join(entry, version, "bin", "python"))
      : [entry],
  );
  return [...named, ...listed].filter((file) => existsSync(file));
}

function discovered(): Python[] {
  const found = new Map<string, Python>();
  const seen = new Set<string>();
  for (const file of candidates()) {
    const real = realpathSync(file);
    if (seen.has(real)) continue;
    seen.add(real);
    const python = asked(file);
    if (python !== null) found.set(realpathSync(python.executable), python);
  }
  return [...found.values()].sort((a, b) => a.major - b.major || a.minor - b.minor);
}

const all = discovered();

export const versionOf = ({ major, minor }: Python): string => `${major}.${minor}`;

/** One interpreter of every version that the probe supports and this machine has. */
export const PYTHONS: readonly Python[] = all.filter(
  (python, i) =>
    python.major === 3 && python.minor >= 8 && all.findIndex((other) => versionOf(other) === versionOf(python)) === i,
);

/** Versions that come upon the probe by their environment and must not stumble. */
export const TOO_OLD: readonly Python[] = all.filter(({ major, minor }) => major < 3 || minor < 8);

/** Any supported one, the newest; null without a Python. */
export const PYTHON: Python | null = PYTHONS.at(-1) ?? null;

export const atLeast = (minor: number): Python | null => PYTHONS.find((python) => python.minor >= minor) ?? null;

/** Interpreters of this machine that have a real PyTorch. */
export const WITH_TORCH: Python | null =
  all.find(
    ({ executable, minor }) =>
      minor >= 8 &&
      spawnSync(executable, ["-c", "import torch; torch.optim.SGD"], { timeout: 60_000, stdio: "ignore" }).status === 0,
  ) ?? null;
