import { HEALTH_KINDS } from "../../src/telemetry/recording/recorded-device.ts";
import { sourceFiles } from "./source-files.ts";

interface FindingText {
  readonly meaning: string;
  readonly action: string;
  /** Where the sources compute it. */
  readonly severity?: string;
}

const AGAIN = "measure again: later samples are not evidence";
const DMESG = "see the kernel's log (`dmesg`), then";

/** What each finding means and what to do. The order is that of the page. */
const TEXTS: Readonly<Record<string, FindingText>> = {
  leak: {
    meaning: "memory grows steadily and does not level off",
    action: "look for values kept across iterations; see `leak_line`",
  },
  rising: { meaning: "memory grows, but not as a leak does", action: "run longer" },
  slow_growth: { meaning: "memory grows above the floor, too unevenly for a leak", action: "run longer" },
  phase_growth: {
    meaning: "one [phase](probe.md#phases) of the program grows, the rest does not",
    action: "look at what this phase keeps, or needs more of each time",
  },
  leak_line: {
    meaning: "a [source line](attribution.md) keeps at least 20 % of the growth",
    action: "follow its hint",
    severity: "critical, warning",
  },
  contributing_line: { meaning: "the same for 5 to 20 %", action: "see `leak_line` first", severity: "info" },
  one_time_line: {
    meaning: "a line whose memory rose in one jump and stayed",
    action: "check whether it is wanted",
    severity: "critical, warning",
  },
  unattributed_growth: {
    meaning: "20 % or more of the growth that no line holds",
    action: "use the tool that it names",
    severity: "info",
  },
  peak_line: {
    meaning: "a line holds more at the peak than on the base",
    action: "reduce it, or accept the difference",
    severity: "critical, warning",
  },
  held_at_peak: { meaning: "a line that holds much at the peak, without a base", action: "nothing", severity: "info" },
  oom: {
    meaning: "the run [ran out of memory](out-of-memory.md)",
    action: "see `oom/` of the run",
    severity: "critical",
  },
  oom_suspected: {
    meaning: "only the output mentions it, and the command exited 0",
    action: "check the output",
    severity: "warning",
  },
  pressure: {
    meaning: "the peak fills 92 % of the device, critical 97 %",
    action: "leave headroom: smaller batch, activation checkpointing",
  },
  hidden_gap: {
    meaning: "device memory [outside the allocator](hidden-gap.md) grows",
    action: "look at extensions, graph captures, communicators",
    severity: "critical, warning",
  },
  left_behind: {
    meaning: "files in RAM outlive the command",
    action: "unlink shared memory when its last user ends",
  },
  transient_spike: { meaning: "that memory spikes", action: "cap or warm up workspaces of libraries" },
  persistent_drift: { meaning: "that memory drifts upwards", action: "leave extensions out one at a time" },
  fragmentation_like: {
    meaning: "much reserved memory is unused",
    action: "`expandable_segments:True`, stable tensor shapes",
  },
  allocator_slack: {
    meaning: "unused reserved memory could hide a leak from the driver for a while",
    action: "judge by `allocated`",
  },
  other_tenant: {
    meaning: "memory of other processes on the device moved; `used` is not judged",
    action: "one job per GPU, then measure again",
  },
  rank_skew: { meaning: "a rank peaks 20 % or more above the median rank", action: "check how work is distributed" },
  rank_suspect: {
    meaning: "a rank's memory grows, unlike that of the others",
    action: "compare what it does from then on",
  },
  rank_ended_early: {
    meaning: "a rank covers less than 80 % of the longest rank's run",
    action: "check whether it ended or lost telemetry",
  },
  insufficient_data: {
    meaning: "fewer than 24 usable samples",
    action: "run longer or sample more often",
    severity: "info",
  },
  unavailable: { meaning: "no usable value", action: "see `doctor`: the counter may not exist", severity: "info" },
  horizon_unused: {
    meaning: "a horizon in steps without steps, or in hours without time stamps",
    action: "state it in the other unit",
  },
  device_unread: { meaning: "the driver of a used GPU could not be read", action: "run `stormlog-gate doctor`" },
  device_lost: { meaning: "the GPU was lost; its samples end", action: `${DMESG} restart the machine and ${AGAIN}` },
  device_reset_required: { meaning: "the GPU needs a reset; its samples end", action: `reset it and ${AGAIN}` },
  device_unavailable: { meaning: "the GPU became unavailable; its samples end", action: `${DMESG} ${AGAIN}` },
  device_unreachable: {
    meaning: "the driver stopped answering; its GPUs' samples end",
    action: "restart the container, name devices explicitly",
  },
  device_driver_mismatch: {
    meaning: "the driver was updated during the run; its GPUs' samples end",
    action: "disable automatic driver updates on runners",
  },
  device_xid: { meaning: "the driver reported an error", action: "see the finding, which explains common numbers" },
  device_ecc: { meaning: "an uncorrectable memory error", action: `reset the GPU and ${AGAIN}` },
  device_row_remap: { meaning: "broken rows of memory were remapped", action: "reset the GPU soon" },
  device_stalled: { meaning: "a driver call took longer than a second", action: "look for an overloaded host" },
  device_recovered: {
    meaning: "the driver failed for a while and answered again",
    action: "see the marks of the recording",
  },
  device_capacity_changed: {
    meaning: "the size of the device's memory changed",
    action: "do not compare shares across it",
  },
  device_count_changed: { meaning: "a device appeared or disappeared", action: "see the kernel's log" },
};

/** Severities of events of devices, which `health-findings.ts` chooses by kind. */
const OF_DEVICES: Readonly<Record<(typeof HEALTH_KINDS)[number], string>> = {
  xid: "critical, warning, info",
  lost: "critical, warning",
  "reset-required": "critical",
  unavailable: "critical",
  unreachable: "critical, warning",
  "driver-mismatch": "critical",
  ecc: "critical",
  "row-remap": "warning",
  stalled: "warning",
  recovered: "info",
  "capacity-changed": "warning",
  "count-changed": "warning",
};

const deviceFinding = (kind: string): string => `device_${kind.replaceAll("-", "_")}`;

/** Every finding that the sources make, with the severities beside its name there; empty where they are computed. */
export function sourceFindings(): ReadonlyMap<string, readonly string[]> {
  const text = sourceFiles()
    .map((file) => file.text)
    .join("\n");
  const constants = new Map<string, string>();
  for (const [, name = "", value = ""] of text.matchAll(/const ([A-Z_]+) = ("[a-z_]+"|\{[^}]*\} as const);/g))
    constants.set(name, `${constants.get(name) ?? ""} ${value}`);
  const resolve = (expression: string): string =>
    expression.replace(/\b[A-Z_]{3,}\b/g, (name) => resolve(constants.get(name) ?? ""));
  const found = new Map<string, Set<string>>(
    HEALTH_KINDS.map((kind) => [deviceFinding(kind), new Set([OF_DEVICES[kind]])]),
  );
  const add = (names: string, severities = "") => {
    for (const [, name = ""] of resolve(names).matchAll(/"([a-z_]+)"/g)) {
      const known = found.get(name) ?? new Set<string>();
      for (const [, severity = ""] of severities.matchAll(/"(critical|warning|info)"/g)) known.add(severity);
      found.set(name, known);
    }
  };
  for (const [, names = "", severities] of text.matchAll(
    /\bclassification:([^,;{}]*(?:\?[^,;]*)?)[,;](?:\s*severity:([^,]*),)?/g,
  ))
    add(names, severities);
  for (const [, name = ""] of text.matchAll(/\bfinding\(\n\s*("[a-z_]+")/g)) add(name);
  return new Map([...found].map(([name, severities]) => [name, [...severities]]));
}

/** The findings as a table. @throws where the sources have one that is not listed, or none of a listed name */
export function findingsTable(): string {
  const made = sourceFindings();
  const page = "scripts/reference/findings.ts";
  const unlisted = [...made.keys()].filter((name) => TEXTS[name] === undefined);
  if (unlisted.length > 0) throw new Error(`${page} lacks the meaning of ${unlisted.join(", ")}`);
  const unmade = Object.keys(TEXTS).filter((name) => !made.has(name));
  if (unmade.length > 0) throw new Error(`${page} lists ${unmade.join(", ")}, which no source makes`);
  const rows = Object.entries(TEXTS).map(([name, { meaning, action, severity }]) => {
    const severities = severity ?? made.get(name)?.join(", ") ?? "";
    if (severities === "") throw new Error(`${name} has no severity`);
    return `| \`${name}\` | ${severities} | ${meaning} | ${action} |\n`;
  });
  return `| finding | severity | meaning | what to do |\n|---|---|---|---|\n${rows.join("")}`;
}
