import { mean } from "../../stats/moments.ts";
import type { Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import type { RecordedService } from "../../telemetry/recording/service.ts";
import type { AnalysisDocument, Projection } from "../series/document.ts";
import { cyclesOf } from "./cycles.ts";
import { levelsAtRest } from "./rest-levels.ts";

type Limit = Pick<Projection, "limit_of" | "limit_bytes">;

/** The limits that are known: that of the container, and those of a collector where the service is one process. */
function limitsOf({ fingerprint, service, processes }: RecordingInfo): readonly Limit[] {
  const { memory_limit_bytes: container } = fingerprint;
  const roles = processes?.roles ?? [];
  const isOne = roles.length <= 1 && roles.every(({ pids }) => pids === 1);
  return [
    ...(typeof container === "number" ? [{ limit_of: "container" as const, limit_bytes: container }] : []),
    ...(isOne ? (service?.limits ?? []) : []).map(({ of, bytes }) => ({ limit_of: of, limit_bytes: bytes })),
  ];
}

/** When the leak of a service reaches the first of its limits under the measured load; null when nothing is known. */
function projectionOf(
  { tables }: Recording,
  info: RecordingInfo,
  service: RecordedService,
  { series, cycles = [], per_cycle = {} }: Pick<AnalysisDocument, "series" | "cycles" | "per_cycle">,
): Projection | null {
  const loadS = cycles.flatMap(({ load_s }) => load_s ?? []);
  const requests = cycles.flatMap((cycle) => cycle.requests ?? []);
  if (loadS.length === 0 || loadS.length < cycles.length) return null;
  const cycleS = mean(loadS);
  const rate = requests.length < cycles.length ? null : mean(requests) / cycleS;
  const reached = limitsOf(info).flatMap((limit): Projection[] => {
    const metric = limit.limit_of === "-Xmx" ? "jvm_heap" : "host";
    const leaks = series.some((one) => one.device === "host" && one.metric === metric && one.class === "leak");
    const left = per_cycle[metric === "host" ? "bytes" : metric];
    const table = tables.find(({ device, columns }) => device === "host" && columns[metric] !== undefined);
    const level = levelsAtRest(table?.timeNs ?? null, table?.columns[metric] ?? new Float64Array(), service).at(-1);
    if (!leaks || left === undefined || level == null || left.interval[0] <= 0) return [];
    const after = (perCycle: number) => (Math.max(0, limit.limit_bytes - level) / perCycle) * cycleS;
    const [low, high] = left.interval;
    return [{ rate, ...limit, seconds: after(left.left), interval: [after(high), after(low)] }];
  });
  return reached.sort((a, b) => a.seconds - b.seconds)[0] ?? null;
}

/** What the analysis of a service has beside that of a command. */
export function serviceAnalysis(
  recording: Recording,
  { series }: Pick<AnalysisDocument, "series">,
): Pick<AnalysisDocument, "cycles" | "per_cycle" | "projection"> {
  const { info } = recording;
  if (info?.service === undefined) return {};
  const left = cyclesOf(recording, info.service);
  const projection = projectionOf(recording, info, info.service, { series, ...left });
  return { ...left, ...(projection === null ? {} : { projection }) };
}
