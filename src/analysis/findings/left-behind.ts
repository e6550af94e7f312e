import { plural } from "../../core/text.ts";
import { formatBytes } from "../../core/units.ts";
import { METRIC } from "../../telemetry/recording/metrics.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import type { Finding } from "../series/document.ts";

/** Names of files in a description. */
const SHOWN = 3;

/** Files in RAM that outlive the command, from 1 MiB on; critical where a run that leaves as much again would fail. */
export function leftBehindFindings({ info }: Recording): Finding[] {
  const left = info?.left_behind;
  if (left === undefined || info === null || left.bytes <= METRIC.left_behind.floorBytes) return [];
  const { bytes, count, files } = left;
  const [first = "", ...others] = new Set(files.map(({ name }) => name.slice(0, name.lastIndexOf("/"))));
  const place = others.length === 0 && first.startsWith("/") ? ` of ${first}` : " in RAM";
  const named = files.slice(0, SHOWN).map((file) => `${file.name.split("/").at(-1)} (${formatBytes(file.bytes)})`);
  const more = count > named.length ? `, and ${count - named.length} more` : "";
  return [
    {
      classification: "left_behind",
      severity: bytes > (METRIC.left_behind.failsFromBytes ?? 0) ? "critical" : "warning",
      confidence: 0.95,
      rank: info.identity.rank,
      device: "host",
      metric: "left_behind",
      evidence: { bytes, files: count },
      description: `${formatBytes(bytes)} in ${plural(count, "file")}${place} ${count === 1 ? "outlives" : "outlive"} the command: ${named.join(", ")}${more}.`,
      remediation: [
        "Unlink shared memory when its last user ends, also one that is killed: unlink it as soon as all have opened it.",
        "Files that another program of the same user made meanwhile count as well.",
      ],
    },
  ];
}
