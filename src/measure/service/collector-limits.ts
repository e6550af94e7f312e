import path from "node:path";
import type { Command } from "../../core/process/command.ts";
import { GIB, KIB, MIB } from "../../core/units.ts";
import type { RecordedService } from "../../telemetry/recording/service.ts";

type Limits = NonNullable<RecordedService["limits"]>;

const UNITS: Readonly<Record<string, number>> = { "": 1, k: KIB, m: MIB, g: GIB, t: 1024 * GIB };

/** "512m", as Java writes sizes, or "2GiB", as Go does; the last match counts. */
function sizeIn(words: readonly string[], pattern: RegExp): number | null {
  const [, digits = "", unit = ""] = words.flatMap((word) => [pattern.exec(word) ?? []]).findLast(([all]) => all) ?? [];
  const bytes = digits === "" ? 0 : Number(digits) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
  return bytes > 0 && Number.isSafeInteger(bytes) ? bytes : null;
}

const words = (text: string | undefined): string[] => (text ?? "").trim().split(/\s+/);

/** Options of the virtual machine, which come before the program, its own options and their values. */
function javaOptions(argv: readonly string[]): readonly string[] {
  const start = argv.findIndex((word) => path.basename(word) === "java");
  if (start < 0) return [];
  const own = argv.slice(start + 1);
  const isValue = (at: number) => /^(?:-cp|-classpath|--class-path|-p|--module-path)$/.test(own[at - 1] ?? "");
  const end = own.findIndex((word, at) => word === "-jar" || (!word.startsWith("-") && !isValue(at)));
  return end < 0 ? own : own.slice(0, end);
}

/**
 * What collectors may hold, by the command and its environment, bytes. That of V8 is for its objects without the
 * buffers, and what it holds is known with them.
 */
export function collectorLimits(command: Command, env: Readonly<Record<string, string>>): Limits {
  const argv = command.kind === "argv" ? command.argv : words(command.script);
  // Of several that say the same, the virtual machine takes the last one of this order.
  const java = [
    ...words(env.JAVA_TOOL_OPTIONS),
    ...words(env.JDK_JAVA_OPTIONS),
    ...javaOptions(argv),
    ...words(env._JAVA_OPTIONS),
  ];
  const heap = sizeIn(java, /^-(?:Xmx|XX:MaxHeapSize=)(\d{1,15})([kmgt]?)$/i);
  const set = [`GOMEMLIMIT=${env.GOMEMLIMIT ?? ""}`, ...argv];
  const go = sizeIn(set, /^GOMEMLIMIT=(\d{1,15})(?:([kmgt])i)?B?$/i);
  return [
    ...(heap === null ? [] : [{ of: "-Xmx" as const, bytes: heap }]),
    ...(go === null ? [] : [{ of: "GOMEMLIMIT" as const, bytes: go }]),
  ];
}
