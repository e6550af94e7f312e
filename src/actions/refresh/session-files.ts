import { GateError } from "../../core/errors.ts";
import type { GitData, RefSnapshot } from "../../github/repository/git-data-client.ts";
import {
  afterSession,
  currentMode,
  emptyState,
  type GateMode,
  type NightlyEntry,
  type NightlyState,
  type PromotionPolicy,
  parseState,
  serializeState,
  withSessions,
} from "../../nightly/state.ts";
import { nightlyBadge } from "../../report/documents/badge.ts";
import type { Verdict } from "../../report/model/gate-report.ts";
import { keyName } from "./settings.ts";

/** What a nightly run adds to the state of a gate. */
export interface SessionResult {
  readonly verdict: Verdict;
  readonly entries: readonly NightlyEntry[];
  readonly policy: PromotionPolicy;
  readonly nowIso: string;
}

export interface SavedSession {
  /** The mode before this session was counted. */
  readonly mode: GateMode;
  readonly state: NightlyState;
}

/** Names of a gate's files on the ref, beside the records. The first gate of a repository has the plain ones. */
function sessionFiles(key: string) {
  const name = keyName(key);
  const suffix = name === "default" ? "" : `-${name}`;
  return {
    state: `.nightly/${name}.json`,
    badge: `badge${suffix}.json`,
  } as const;
}

async function readState(gitData: GitData, snapshot: RefSnapshot | null, file: string): Promise<NightlyState | string> {
  const found = snapshot?.files.find(({ path }) => path === file);
  if (found === undefined) return emptyState();
  const read = parseState(Buffer.from(await gitData.blob(found.sha)).toString("utf8"));
  switch (read.kind) {
    case "state":
      return read.state;
    case "newer":
      throw new GateError("NIGHTLY_STATE_NEWER", `${file} has schema ${read.schema}, which this version cannot keep`, {
        where: file,
        hint: "Use a newer stormlog-gate.",
      });
    case "broken":
      return read.reason;
    default:
      return read satisfies never;
  }
}

/** Add a session and the badge to the ref in one commit. @throws GateError NIGHTLY_STATE_NEWER, client errors */
export async function saveSession(
  gitData: GitData,
  ref: string,
  key: string,
  session: SessionResult,
  warn: (message: string) => void,
): Promise<SavedSession> {
  const files = sessionFiles(key);
  let saved: SavedSession | null = null;
  await gitData.commit(ref, `Nightly run of ${keyName(key)}: ${session.verdict}`, async (current) => {
    let before = await readState(gitData, current, files.state);
    if (typeof before === "string") {
      warn(`${files.state} cannot be read (${before}); the history of the nightly runs starts again.`);
      before = emptyState();
    }
    const promotion = afterSession(
      before.promotion,
      session.verdict,
      session.policy,
      `${session.nowIso.slice(0, 19)}Z`,
    );
    const state: NightlyState = {
      ...withSessions(before, session.entries),
      promotion: { ...promotion },
    };
    saved = { mode: currentMode(before.promotion, session.policy), state };
    const text = new Map([
      [files.state, serializeState(state)],
      [files.badge, nightlyBadge(session.verdict, promotion.mode === "advisory")],
    ]);
    return new Map([...text].map(([name, content]) => [name, Buffer.from(content)]));
  });
  if (saved === null) throw new Error("the session was not written");
  return saved;
}

/** What is remembered of a gate; an empty state where there is nothing yet, or nothing that can be read. */
export async function loadNightlyState(gitData: GitData, ref: string, key: string): Promise<NightlyState> {
  const state = await readState(gitData, await gitData.snapshot(ref), sessionFiles(key).state);
  return typeof state === "string" ? emptyState() : state;
}
