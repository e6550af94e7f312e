import { plural } from "../../core/text.ts";
import { formatBytes } from "../../core/units.ts";
import { METRIC } from "../../telemetry/recording/metrics.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import type { Finding } from "../series/document.ts";

/** Names of files in a description. */
const SHOWN = 3;

/**
 * Files in RAM that outlive the command, from 1 MiB on; critical where a run that leaves as much again would fail.
 * Those that none of its processes was seen to have open may be another program's.
 */
export function leftBehindFindings({ info }: Recording): Finding[] {
  const left = info?.left_behind;
  return [left, left?.unknown].flatMap((one): Finding[] => {
    if (one === undefined || info === null || one.bytes <= METRIC.left_behind.floorBytes) return [];
    const { bytes, count, files } = one;
    const isOwn = one === left;
    const [first = "", ...others] = new Set(files.map(({ name }) => name.slice(0, name.lastIndexOf("/"))));
    const place = others.length === 0 && first.startsWith("/") ? ` of ${first}` : " in RAM";
    const named = files.slice(0, SHOWN).map((file) => `${file.name.split("/").at(-1)} (${formatBytes(file.bytes)})`);
    const more = count > named.length ? `, and ${count - named.length} more` : "";
    const outlives = isOwn
      ? `${count === 1 ? "outlives" : "outlive"} the command`
      : "appeared during the run, and no process of the command was seen to have one open";
    const isFatal = bytes > (METRIC.left_behind.failsFromBytes ?? 0);
    return [
      {
        classification: "left_behind",
        severity: isOwn ? (isFatal ? "critical" : "warning") : "info",
        confidence: isOwn ? 0.95 : 0.5,
        rank: info.identity.rank,
        device: "host",
        metric: "left_behind",
        evidence: { bytes, files: count },
        description: `${formatBytes(bytes)} in ${plural(count, "file")}${place} ${outlives}: ${named.join(", ")}${more}.`,
        remediation: [
          isOwn
            ? "Unlink shared memory when its last user ends, also one that is killed: unlink it as soon as all have opened it."
            : "It is not judged. Files that are closed within a millisecond may be the command's.",
        ],
      },
    ];
  });
}
