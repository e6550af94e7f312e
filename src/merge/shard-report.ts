import { combineFeatures } from "../analysis/analyze.ts";
import { measuredRun } from "../analysis/measured-run.ts";
import { type AnalysisDocument, compareSeverity, type Finding, isBackground } from "../analysis/series/document.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { groupBy } from "../core/group-by.ts";
import { packageVersion } from "../core/package-root.ts";
import { plural } from "../core/text.ts";
import type { Horizon } from "../core/units.ts";
import { withExplanations } from "../report/headline/causes.ts";
import { type GateReport, type ScenarioReport, scenarioReport, type Verdict } from "../report/model/gate-report.ts";
import type { Fingerprint, RecordingInfo } from "../telemetry/recording/model.ts";
import { judge } from "../verdict/judge.ts";
import { DEFAULT_POLICY } from "../verdict/model/defaults.ts";
import { DONE, isHardBreach, type Judgement } from "../verdict/model/judgement.ts";
import type { Budget } from "../verdict/model/policy.ts";
import { SHARD_RUN } from "./merge-nodes.ts";
import { collapsedFindings } from "./shard-findings.ts";
import type { NamedShard, ShardJob } from "./shard-jobs.ts";

/** The limits by which recordings are judged. */
export interface ShardPolicy {
  readonly budgets: readonly Budget[];
  readonly horizon: Horizon | null;
}

/** The hosts of a job's ranks; empty where all are on one. */
export function hostsOf({ shards }: ShardJob): ReadonlyMap<number, string> {
  const hosts = new Map<number, string>();
  for (const { info, features } of shards) {
    hosts.set(info.identity.rank, info.identity.host);
    for (const { analysis } of features.series) hosts.set(analysis.rank, info.identity.host);
  }
  return new Set(hosts.values()).size > 1 ? hosts : new Map();
}

/** The environment of all ranks. A field that differs contains every value, so that equal mixes compare as equal. */
function mergedFingerprint(shards: readonly NamedShard[], worldSize: number): Fingerprint {
  const fields = new Set(shards.flatMap(({ info }) => Object.keys(info.fingerprint)));
  const merged = [...fields].map((field) => {
    const known = [...new Set(shards.map(({ info }) => info.fingerprint[field] ?? null))].filter(
      (value) => value !== null,
    );
    const text = known.map(String).sort().join(", ");
    return [field, known.length === 0 ? null : known.length === 1 ? (known[0] ?? null) : text] as const;
  });
  return { ...Object.fromEntries(merged), world_size: worldSize };
}

/** "rank 3 on node2 (shards/rank-0003)" */
const shardText = ({ name, info }: NamedShard): string =>
  `rank ${info.identity.rank} on ${info.identity.host} (${name})`;

/** What the ranks lost; equal notes of several ranks once. */
function lostOf(shards: readonly NamedShard[]): readonly string[] {
  const all = shards.flatMap((shard) =>
    [...new Set([...shard.info.lost, ...shard.notes])].map((text) => ({ shard, text })),
  );
  return [...groupBy(all, ({ text }) => text)].map(([text, own]) => {
    const first = own[0]?.shard;
    const more = own.length > 1 ? ` and ${(own.length - 1).toLocaleString("en-US")} more` : "";
    return first === undefined || shards.length === 1 ? text : `${shardText(first)}${more}: ${text}`;
  });
}

const WORST_ENDING: readonly string[] = [
  "COMMAND_OUT_OF_MEMORY",
  "COMMAND_FAILED",
  "COMMAND_TIMEOUT",
  "COMMAND_KILLED",
];

/** The failed ranks: worst ending first, then in the order of time, as launchers end the other ranks afterwards. */
export function failedShards(
  { shards }: ShardJob,
  offsets: AnalysisDocument["ranks"]["alignment_offsets_ns"],
): readonly NamedShard[] {
  const failed = shards.flatMap((shard) => {
    if (shard.ending.kind === "ok") return [];
    const code = shard.ending.kind === "failed" ? shard.ending.code : "INTERRUPTED";
    const at = WORST_ENDING.indexOf(code);
    const offset = BigInt(offsets[String(shard.info.identity.rank)] ?? "0");
    return [{ shard, order: at < 0 ? WORST_ENDING.length : at, endNs: (shard.span?.lastNs ?? 0n) - offset }];
  });
  failed.sort((a, b) => a.order - b.order || (a.endNs < b.endNs ? -1 : a.endNs > b.endNs ? 1 : 0));
  return failed.map(({ shard }) => shard);
}

function errorOf(job: ShardJob, shard: NamedShard): NonNullable<ScenarioReport["error"]> {
  const { ending } = shard;
  const failed = job.shards.filter((one) => one.ending.kind !== "ok").length;
  const more = failed > 1 ? ` (and ${plural(failed - 1, "more rank")} failed)` : "";
  const signal = ending.kind === "interrupted" ? `by ${ending.signal}` : "(no signal recorded)";
  const { code, message, hint } =
    ending.kind === "failed" ? ending : { code: "INTERRUPTED", message: `interrupted ${signal}`, hint: null };
  const rank = job.shards.length > 1 ? `${shardText(shard)}: ` : "";
  return {
    code,
    message: `${rank}${message}${more}`,
    hint,
    ...(shard.outputTail === null ? {} : { output_tail: shard.outputTail }),
  };
}

/** Findings with the host of their rank, where there are several. */
function withHosts(findings: readonly Finding[], hosts: ReadonlyMap<number, string>): readonly Finding[] {
  return findings.map((finding) => {
    const host = finding.rank === null ? undefined : hosts.get(finding.rank);
    if (host === undefined) return finding;
    const evidence = { ...finding.evidence, host };
    return { ...finding, evidence, description: `On ${host}: ${finding.description}` };
  });
}

/** A reason with the host of the first rank that it names. */
export function reasonWithHost(reason: string, hosts: ReadonlyMap<number, string>): string {
  return reason.replace(/\brank (\d{1,7})\b/, (named, rank: string) => {
    const host = hosts.get(Number(rank));
    return host === undefined ? named : `${named} (on ${host})`;
  });
}

/** One run of all ranks, with the command and output of one rank and the losses of all. */
function mergedInfo(
  job: ShardJob,
  shown: NamedShard,
  document: AnalysisDocument,
  fingerprint: Fingerprint,
): RecordingInfo {
  const durations = job.shards.flatMap(({ info }) => info.clock.duration_s ?? []);
  const peaks = job.shards.flatMap(({ info }) => info.peaks);
  const oom = job.shards.map(({ info }) => info.oom).find((one) => one !== undefined);
  return {
    ...shown.info,
    complete: job.shards.every(({ info }) => info.complete),
    run: 1,
    commit: job.commit,
    session: job.session,
    fingerprint,
    identity: { ...shown.info.identity, world_size: document.ranks.world_size },
    clock: { ...shown.info.clock, duration_s: durations.length === 0 ? null : Math.max(...durations) },
    peaks,
    lost: lostOf(job.shards),
    ...(oom === undefined ? {} : { oom }),
  };
}

function judgementOf(
  document: AnalysisDocument,
  job: ShardJob,
  fingerprint: Fingerprint,
  policy: ShardPolicy,
): Judgement {
  return judge({
    candidate: { scenario: job.scenario, fingerprint, runs: [measuredRun(document, job)] },
    baseline: null,
    anchor: null,
    policy: { ...DEFAULT_POLICY, budgets: policy.budgets, horizon: policy.horizon },
    baseRunsPossible: false,
    moreRunsPossible: false,
    baselineWanted: false,
  });
}

/** The judgement of a failed run: its peak and growth are not judged, but breached budgets and out-of-memory count. */
function hardOnly(judgement: Judgement): Judgement | null {
  const checks = judgement.checks.filter(isHardBreach);
  if (checks.length === 0) return null;
  return { ...judgement, verdict: "fail", next: DONE, checks };
}

/** A job of recordings as one scenario with one run, analysed over all ranks and judged without a baseline. */
export function reportOfShards(job: ShardJob, policy: ShardPolicy, argv: readonly string[], now: Date): GateReport {
  const whole = combineFeatures(
    job.shards.map(({ features }) => features),
    { horizon: policy.horizon, phases: [] },
  );
  const findings = collapsedFindings(withHosts(whole.findings, hostsOf(job)));
  const document = { ...whole, findings };
  const fingerprint = mergedFingerprint(job.shards, document.ranks.world_size);
  const failed = failedShards(job, document.ranks.alignment_offsets_ns)[0] ?? null;
  const all = judgementOf(whole, job, fingerprint, policy);
  const judgement = failed === null ? all : hardOnly(all);
  const verdict: Verdict = judgement === null ? "error" : judgement.verdict;
  const shown = failed ?? job.shards[0];
  if (shown === undefined) throw new Error("a job has at least one shard");
  const report = scenarioReport({
    scenario: job.scenario,
    verdict,
    judgement,
    error: failed === null ? null : errorOf(job, failed),
    runs: [
      {
        role: "candidate",
        directory: SHARD_RUN,
        info: mergedInfo(job, shown, document, fingerprint),
        analysis: document,
      },
    ],
    baseline: null,
    fingerprint,
    findings: findings.filter((finding) => !isBackground(finding)).sort(compareSeverity),
    timeline: null,
  });
  const scenario = withExplanations(report);
  return {
    tool: { name: "stormlog-gate", version: packageVersion(), argv },
    generated_at_utc: now.toISOString(),
    verdict,
    // Where a rank failed, launchers interrupt the others.
    exit_code: failed?.ending.kind === "interrupted" ? ExitCode.interrupted : ExitCode.pass,
    confirmed: judgement?.confirmed ?? false,
    session: job.session,
    commit: job.commit,
    scenarios: [scenario],
    cost: { runs: 1, minutes: (scenario.runs[0]?.info.clock.duration_s ?? 0) / 60 },
    warnings: [],
  };
}
