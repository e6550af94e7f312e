import { escapeTerminal } from "../../core/escape.ts";
import { cutText, oneLine } from "../../core/text.ts";
import { formatBytes, formatBytesDelta } from "../../core/units.ts";
import { ANCHORS_FILE, type Anchor, findAnchor } from "../../gate/scenario/anchor.ts";
import { anchorOf, anchorStanding, serializeAnchors, withAnchor } from "../../gate/scenario/anchor-changes.ts";
import { policyOf } from "../../gate/scenario/scenario-report.ts";
import type { Proposal, ProposedFile } from "../../github/repository/anchor-pull-request.ts";
import type { IssueText } from "../../github/repository/issue-upsert.ts";
import type { NightlyRun, NightlyScenario } from "../../nightly/nightly-run.ts";
import type { NightlyEntry } from "../../nightly/state.ts";
import { codeBlock, md, table } from "../../report/markdown/markdown-text.ts";
import { ANCHOR_MARGIN } from "../../verdict/model/defaults.ts";
import type { Refresh } from "./measure-session.ts";
import { joinedBaseline, levelLine, nightsOf, nightTable } from "./session-text.ts";
import { keyName } from "./settings.ts";

/** An anchor that the level of a nightly session exceeds. */
export interface AnchorMove {
  readonly night: NightlyScenario;
  /** Null = there is none yet. */
  readonly from: Anchor | null;
  readonly to: Anchor;
}

/** Anchors exceeded by more than the margin; with `propose` also missing ones. A held-back session proposes nothing. */
export function anchorMoves({ request, settings, anchors }: Refresh, nightly: NightlyRun): readonly AnchorMove[] {
  const { anchor: mode } = settings;
  const setIso = nightly.outcome.report.generated_at_utc;
  if (mode === "off") return [];
  return nightly.scenarios.flatMap((one): AnchorMove[] => {
    const { night, scenario, older } = one;
    if (!joinedBaseline(one) || night.runs.length === 0) return [];
    const fingerprint = night.fingerprint ?? {};
    const from = findAnchor(anchors, scenario.name, fingerprint);
    const to = anchorOf(scenario.name, fingerprint, night.runs, { setIso, commit: night.runs[0]?.commit ?? null });
    const policy = policyOf(request, scenario);
    if (from === null) {
      const known = (older?.runs.length ?? 0) + night.runs.length;
      return mode === "propose" && known >= policy.minBaselineRuns ? [{ night: one, from, to }] : [];
    }
    const above = anchorStanding(night, from, policy).some(({ verdict, gating }) => gating && verdict === "fail");
    return above ? [{ night: one, from, to }] : [];
  });
}

function movePart({ night, from, to }: AnchorMove, nights: readonly NightlyEntry[]): string {
  const old = new Map(
    (from?.series ?? []).map(([rank, device, metric, peak]) => [`${rank} ${device} ${metric}`, peak]),
  );
  const rows = to.series.map(([rank, device, metric, peak]) => {
    const before = old.get(`${rank} ${device} ${metric}`);
    const change = before === undefined ? "" : formatBytesDelta(peak - before);
    return [
      String(rank),
      md(device, 60),
      metric,
      before === undefined ? "" : formatBytes(before),
      formatBytes(peak),
      change,
    ];
  });
  const own = nightsOf(nights, night.entry);
  const spark = levelLine(own);
  return [
    `### ${md(night.report.scenario, 80)}`,
    "",
    ...(from === null
      ? []
      : [`Anchored ${md(from.set, 30)}${from.commit === null ? "" : ` at \`${from.commit.slice(0, 10)}\``}.`, ""]),
    table(["rank", "device", "metric", "anchor", "now", "change"], ["r", "l", "l", "r", "r", "r"], rows),
    "",
    ...(spark === "" ? [] : [`Peak per night: \`${spark}\``, ""]),
    nightTable(own),
  ].join("\n");
}

function moveText(moves: readonly AnchorMove[], nights: readonly NightlyEntry[]): readonly string[] {
  const percent = `${Math.round(100 * ANCHOR_MARGIN)} %`;
  const creeps = moves.some(({ from }) => from !== null);
  return [
    ...(creeps
      ? [
          `The main branch is more than ${percent} above its release anchor. No single change was large enough to be stopped; their sum is.`,
          "Moving the anchor accepts that sum. Otherwise find its origin in the nights below and close this.",
        ]
      : [
          `These scenarios have no release anchor yet. An anchor stops the sum of many small increases at ${percent} above it, which a comparison`,
          "with the newest baseline cannot.",
        ]),
    "",
    ...moves.flatMap((move) => [movePart(move, nights), ""]),
  ];
}

const titleOf = (moves: readonly AnchorMove[], key: string): string => {
  const verb = moves.every(({ from }) => from === null) ? "Set" : "Move";
  const names = moves.map(({ night }) => escapeTerminal(oneLine(night.report.scenario))).join(", ");
  const title = `${verb} the memory anchor of ${names}${key === "default" ? "" : ` (${key})`}`;
  return cutText(title, 200);
};

/** The pull request that moves them. */
export function anchorProposal(
  { repository, settings, anchors, defaultBranch: base }: Refresh,
  moves: readonly AnchorMove[],
  nights: readonly NightlyEntry[],
): AnchorProposal {
  const title = titleOf(moves, settings.key);
  const moved = moves.reduce<readonly Anchor[]>((all, { to }) => withAnchor(all, to), anchors);
  return {
    branch: `stormlog/anchors-${keyName(settings.key)}`,
    base,
    title,
    message: title,
    files: [{ path: `${repository.checkout.prefix}${ANCHORS_FILE}`, content: serializeAnchors(moved) }],
    body: [
      ...moveText(moves, nights),
      "Merging this moves the anchor. Until then the nightly run keeps it up to date, unless its branch receives other commits.",
      "",
    ].join("\n"),
  };
}

type AnchorProposal = Proposal & { readonly files: readonly ProposedFile[] };

/** The same as an issue, where pull requests are not allowed. */
export function anchorIssue(
  proposal: AnchorProposal,
  moves: readonly AnchorMove[],
  nights: readonly NightlyEntry[],
): IssueText {
  const [file] = proposal.files;
  return {
    title: proposal.title,
    body: [
      ...moveText(moves, nights),
      "This token may not open pull requests. To accept the anchor, commit this file:",
      "",
      `\`${md(file?.path ?? "", 200)}\``,
      "",
      codeBlock((file?.content ?? "").slice(0, 20_000)),
      "",
    ].join("\n"),
  };
}
