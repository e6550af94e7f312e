import type { GapMarks } from "../../telemetry/devices/device-gap.ts";
import type { ProbeInfo } from "../../telemetry/reading/probe-info.ts";

/** The times in the reports of probes, on the recording's clock. */
export function gapMarks(infos: readonly ProbeInfo[], monotonicStartNs: bigint): GapMarks[] {
  const since = (timeNs: bigint): number => Number(timeNs - monotonicStartNs);
  const at = (timeNs: bigint | null): number | null => (timeNs === null ? null : since(timeNs));
  return infos.flatMap(({ process, marks }): GapMarks[] => {
    const { context, group, wrap, firstStep } = marks;
    if (context === null && group === null && wrap === null && firstStep === null) return [];
    return [
      {
        pid: process.pid,
        contextNs: at(context),
        groupNs: at(group),
        wrapNs: wrap === null ? null : [since(wrap[0]), since(wrap[1])],
        firstStepNs: at(firstStep),
      },
    ];
  });
}
