import path from "node:path";
import { readBounded } from "../../core/files.ts";
import { outOfMemory } from "../../telemetry/oom/decide.ts";
import { findMessages } from "../../telemetry/oom/messages.ts";
import { readProbeOoms } from "../../telemetry/oom/probe-files.ts";
import type { RecordingInfo } from "../../telemetry/recording/model.ts";
import type { RecordFile } from "../../telemetry/recording/record-columns.ts";
import { OUTPUT_FILE } from "../../telemetry/recording/run-files.ts";
import { kernelFacts } from "../launch/kernel-watch.ts";

/** The kept part of the output. */
function keptOutput(directory: string): string {
  try {
    // More than the gate keeps of an output: such a file is not its own.
    return readBounded(path.join(directory, OUTPUT_FILE), 1 << 20, "refuse").toString("utf8");
  } catch {
    return "";
  }
}

/**
 * The run's information with evidence of running out of memory (`oom`), if any; unreadable traces count as missing.
 * @param file null when it could not be read back  @param killsBefore kernel kills before the command began
 */
export function withOutOfMemory(
  info: RecordingInfo,
  directory: string,
  file: RecordFile | null,
  killsBefore: number | null,
): RecordingInfo {
  const output = keptOutput(directory);
  const oom = outOfMemory({
    exit: info.exit,
    startNs: BigInt(info.clock.monotonic_start_ns),
    probe: readProbeOoms(directory),
    kernel: kernelFacts(info, file, killsBefore),
    output,
    messages: findMessages(output),
  });
  return oom === null ? info : { ...info, oom };
}
