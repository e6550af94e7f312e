import { combineFeatures } from "../analysis/analyze.ts";
import type { AnalysisDocument, Finding } from "../analysis/document.ts";
import { measuredRun } from "../analysis/measured-run.ts";
import { resolveOptions } from "../analysis/options.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { groupBy } from "../core/group-by.ts";
import { packageVersion } from "../core/package-root.ts";
import { type GateReport, type ScenarioReport, scenarioReport, type Verdict } from "../report/documents/model.ts";
import type { Fingerprint, RecordingInfo } from "../telemetry/recording/model.ts";
import { DEFAULT_POLICY } from "../verdict/defaults.ts";
import { judge } from "../verdict/judge.ts";
import { DONE, isHardBreach, type Judgement } from "../verdict/judgement.ts";
import type { Budget, Horizon } from "../verdict/policy.ts";
import { collapsedFindings } from "./shard-findings.ts";
import type { NamedShard, ShardJob } from "./shard-jobs.ts";
import { SHARD_RUN } from "./shard-run.ts";

/** How recordings are judged that nobody judged yet. */
export interface ShardPolicy {
  readonly budgets: readonly Budget[];
  readonly horizon: Horizon | null;
}

/** What a job calls its ranks' machines; empty where all are on one. */
export function hostsOf({ shards }: ShardJob): ReadonlyMap<number, string> {
  const hosts = new Map<number, string>();
  for (const { info, features } of shards) {
    hosts.set(info.identity.rank, info.identity.host);
    for (const { analysis } of features.series) hosts.set(analysis.rank, info.identity.host);
  }
  return new Set(hosts.values()).size > 1 ? hosts : new Map();
}

/** The environment of all ranks: what differs between them is told with every value, so that the same mix compares equal. */
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
const whoseText = ({ name, info }: NamedShard): string =>
  `rank ${info.identity.rank} on ${info.identity.host} (${name})`;

/** The same words of several ranks once. */
function lostOf(shards: readonly NamedShard[]): readonly string[] {
  const told = shards.flatMap((shard) =>
    [...new Set([...shard.info.lost, ...shard.notes])].map((text) => ({ shard, text })),
  );
  return [...groupBy(told, ({ text }) => text)].map(([text, own]) => {
    const first = own[0]?.shard;
    const more = own.length > 1 ? ` and ${(own.length - 1).toLocaleString("en-US")} more` : "";
    return first === undefined || shards.length === 1 ? text : `${whoseText(first)}${more}: ${text}`;
  });
}

const WORST_ENDING: readonly string[] = [
  "COMMAND_OUT_OF_MEMORY",
  "COMMAND_FAILED",
  "COMMAND_TIMEOUT",
  "COMMAND_KILLED",
];

/** The rank whose command failed first of those that failed worst: what a launcher ends afterwards is no cause. */
function failedShard(shards: readonly NamedShard[], document: AnalysisDocument): NamedShard | null {
  const failed = shards.flatMap((shard) => {
    if (shard.ending.kind === "ok") return [];
    const code = shard.ending.kind === "failed" ? shard.ending.code : "INTERRUPTED";
    const at = WORST_ENDING.indexOf(code);
    const offset = BigInt(document.ranks.alignment_offsets_ns[String(shard.info.identity.rank)] ?? "0");
    return [{ shard, order: at < 0 ? WORST_ENDING.length : at, endNs: (shard.span?.lastNs ?? 0n) - offset }];
  });
  failed.sort((a, b) => a.order - b.order || (a.endNs < b.endNs ? -1 : a.endNs > b.endNs ? 1 : 0));
  return failed[0]?.shard ?? null;
}

function errorOf(job: ShardJob, shard: NamedShard): NonNullable<ScenarioReport["error"]> {
  const { ending } = shard;
  const failed = job.shards.filter((one) => one.ending.kind !== "ok").length;
  const more = failed > 1 ? ` (and ${failed - 1} more rank${failed === 2 ? "" : "s"} did not end well)` : "";
  const told =
    ending.kind === "failed"
      ? ending
      : {
          code: "INTERRUPTED",
          message: `interrupted by ${ending.kind === "interrupted" ? ending.signal : "nobody"}`,
          hint: null,
        };
  const whose = job.shards.length > 1 ? `${whoseText(shard)}: ` : "";
  return {
    code: told.code,
    message: `${whose}${told.message}${more}`,
    hint: told.hint,
    ...(shard.outputTail === null ? {} : { output_tail: shard.outputTail }),
  };
}

/** Findings with the machine of their rank, where there is more than one. */
function withHosts(findings: readonly Finding[], hosts: ReadonlyMap<number, string>): readonly Finding[] {
  return findings.map((finding) => {
    const host = finding.rank === null ? undefined : hosts.get(finding.rank);
    if (host === undefined) return finding;
    const evidence = { ...finding.evidence, host };
    return { ...finding, evidence, description: `On ${host}: ${finding.description}` };
  });
}

/** A verdict's sentence with the machine of the first rank that it names. */
export function reasonWithHost(reason: string, hosts: ReadonlyMap<number, string>): string {
  return reason.replace(/\brank (\d{1,7})\b/, (named, rank: string) => {
    const host = hosts.get(Number(rank));
    return host === undefined ? named : `${named} (on ${host})`;
  });
}

const SEVERITY = { critical: 0, warning: 1, info: 2 } as const;

/** One whole run of all ranks: the text of the rank that is told of, with what all of them lost. */
function mergedInfo(
  job: ShardJob,
  told: NamedShard,
  document: AnalysisDocument,
  fingerprint: Fingerprint,
): RecordingInfo {
  const durations = job.shards.flatMap(({ info }) => info.clock.duration_s ?? []);
  const peaks = job.shards.flatMap(({ info }) => info.peaks);
  const oom = job.shards.map(({ info }) => info.oom).find((one) => one !== undefined);
  return {
    ...told.info,
    complete: job.shards.every(({ info }) => info.complete),
    run: 1,
    commit: job.commit,
    session: job.session,
    fingerprint,
    identity: { ...told.info.identity, world_size: document.ranks.world_size },
    clock: { ...told.info.clock, duration_s: durations.length === 0 ? null : Math.max(...durations) },
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

/** A run that failed is not judged on peak or growth; what it used before still counts against budgets and out-of-memory. */
function hardOnly(judgement: Judgement): Judgement | null {
  const checks = judgement.checks.filter(isHardBreach);
  if (checks.length === 0) return null;
  return { ...judgement, verdict: "fail", next: DONE, checks };
}

/**
 * A job of recordings as a report of one scenario with one run: its analysis is over all ranks, its judgement by the budgets that
 * were asked for, the classes, and out-of-memory. The timeline is made later, of the ranks that turn out to matter.
 */
export function reportOfShards(job: ShardJob, policy: ShardPolicy, argv: readonly string[], now: Date): GateReport {
  const options = resolveOptions({ horizon: policy.horizon });
  const whole = combineFeatures(
    job.shards.map(({ features }) => features),
    options,
  );
  const findings = collapsedFindings(withHosts(whole.findings, hostsOf(job)));
  const document = { ...whole, findings };
  const fingerprint = mergedFingerprint(job.shards, document.ranks.world_size);
  const failed = failedShard(job.shards, document);
  const all = judgementOf(whole, job, fingerprint, policy);
  const judgement = failed === null ? all : hardOnly(all);
  const word: Verdict = judgement === null ? "error" : judgement.verdict;
  const told = failed ?? job.shards[0];
  if (told === undefined) throw new Error("a job has at least one shard");
  const scenario = scenarioReport({
    scenario: job.scenario,
    word,
    judgement,
    error: failed === null ? null : errorOf(job, failed),
    runs: [
      {
        role: "candidate",
        directory: SHARD_RUN,
        info: mergedInfo(job, told, document, fingerprint),
        analysis: document,
      },
    ],
    baseline: null,
    fingerprint,
    findings: [...findings].sort((a, b) => SEVERITY[a.severity] - SEVERITY[b.severity]),
    timeline: null,
  });
  const interrupted = job.shards.some(({ ending }) => ending.kind === "interrupted");
  return {
    tool: { name: "stormlog-gate", version: packageVersion(), argv },
    generated_at_utc: now.toISOString(),
    word,
    exit_code: interrupted ? ExitCode.interrupted : ExitCode.pass,
    confirmed: judgement?.confirmed ?? false,
    session: job.session,
    commit: job.commit,
    scenarios: [scenario],
    cost: { runs: 1, minutes: (scenario.runs[0]?.info.clock.duration_s ?? 0) / 60 },
    warnings: [],
  };
}
