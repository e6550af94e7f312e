import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../../src/core/package-root.ts";

/** What a tool left after one program. */
interface Output {
  /** Empty at the start; the tool works in it. */
  readonly directory: string;
  readonly text: string;
}

/** One way to measure a program. */
export interface Tool {
  readonly name: string;
  readonly argv: (program: string, directory: string) => readonly string[];
  readonly env?: (program: string) => Readonly<Record<string, string>>;
  /** The peak that it reports, in bytes; null when it reports none. */
  readonly peak: (output: Output) => number | null;
}

const own = (name: string): string => fileURLToPath(new URL(`programs/${name}`, import.meta.url));
const MIB = 2 ** 20;
const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 2 ** 10,
  MiB: MIB,
  GiB: 2 ** 30,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
};

const largest = (values: readonly number[]): number | null => (values.length === 0 ? null : Math.max(...values));

/** "1.074GB" in bytes. */
function sized(text: string, pattern: RegExp): number | null {
  const [, number, unit = ""] = pattern.exec(text) ?? [];
  const factor = UNITS[unit];
  return number === undefined || factor === undefined ? null : Number(number) * factor;
}

function column(file: string, at: number, factor: number): number | null {
  const rows = readFileSync(file, "utf8")
    .split("\n")
    .map((line) => Number(line.trim().split(/\s+/)[at]));
  return largest(rows.filter((value) => Number.isFinite(value)).map((value) => value * factor));
}

const cli = path.join(packageRoot(), "dist/cli.js");

function gatePeak(directory: string): number | null {
  const { stdout } = spawnSync(process.execPath, [cli, "analyze", path.join(directory, "run"), "--json"], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  const { series } = JSON.parse(stdout) as { series: readonly { metric: string; peak_bytes: number | null }[] };
  return largest(
    series.flatMap(({ metric, peak_bytes }) => (metric === "host" && peak_bytes !== null ? [peak_bytes] : [])),
  );
}

/** Every tool that is compared, with `bin` the directory of the installed ones. */
export function tools(bin: string): readonly Tool[] {
  const python = path.join(bin, "python");
  const at = (name: string): string => path.join(bin, name);
  return [
    {
      name: "Stormlog Gate, record",
      argv: (program) => [process.execPath, cli, "record", "--output", "run", "--", python, program],
      peak: ({ directory }) => gatePeak(directory),
    },
    {
      name: "/usr/bin/time -v",
      argv: (program) => ["/usr/bin/time", "-v", python, program],
      peak: ({ text }) => {
        const [, kib] = /Maximum resident set size \(kbytes\): (\d+)/.exec(text) ?? [];
        return kib === undefined ? null : Number(kib) * 1024;
      },
    },
    {
      name: "psrecord",
      argv: (program) => [at("psrecord"), `${python} ${program}`, "--include-children", "--log", "log"],
      peak: ({ directory }) => column(path.join(directory, "log"), 2, MIB),
    },
    {
      name: "mprof (memory-profiler)",
      argv: (program) => [at("mprof"), "run", "--include-children", "--output", "log", python, program],
      peak: ({ directory }) => column(path.join(directory, "log"), 1, MIB),
    },
    {
      name: "memray",
      argv: (program) => [at("memray"), "run", "--quiet", "--follow-fork", "--output", "log.bin", program],
      peak: ({ directory }) => {
        const files = readdirSync(directory).filter((name) => name.startsWith("log.bin"));
        const peaks = files.map((name) => {
          const { stdout } = spawnSync(at("memray"), ["stats", path.join(directory, name)], { encoding: "utf8" });
          return sized(stdout, /Peak memory usage:\s*([\d.]+)\s*(\w+)/) ?? 0;
        });
        // One file a process: its peaks are added up, which is right only if they coincide.
        return peaks.length === 0 ? null : peaks.reduce((sum, peak) => sum + peak, 0);
      },
    },
    {
      name: "pytest-memray",
      argv: () => [at("pytest"), "-q", "-p", "no:cacheprovider", "--memray", own("test_program.py")],
      env: (program) => ({ PROGRAM: program, PYTHONDONTWRITEBYTECODE: "1" }),
      peak: ({ text }) => sized(text, /Total memory allocated:\s*([\d.]+)\s*(\w+)/),
    },
    {
      name: "traceml-ai, watch",
      argv: (program) => [at("traceml"), "watch", program],
      peak: ({ directory }) => {
        const session = readdirSync(path.join(directory, "logs"))[0] ?? "";
        const text = readFileSync(path.join(directory, "logs", session, "final_summary.json"), "utf8");
        const { process } = JSON.parse(text) as {
          process?: { global?: { worst?: { ram_bytes?: { value?: number } } } };
        };
        return process?.global?.worst?.ram_bytes?.value ?? null;
      },
    },
    {
      name: "stormlog, host tracker",
      argv: (program) => [python, own("stormlog_host.py"), program, "events.json"],
      peak: ({ directory }) => {
        const text = readFileSync(path.join(directory, "events.json"), "utf8");
        return largest(
          [...text.matchAll(/"(?:allocator_)?(?:allocated|rss)_bytes":\s*(\d+)/g)].map(([, one]) => Number(one)),
        );
      },
    },
  ];
}
