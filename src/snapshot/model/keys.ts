/** Keys of all snapshot versions: the table's first strings, so a key's id is its number. Others are skipped. */
const KEYS = [
  "action",
  "addr",
  "device_free",
  "size",
  "stream",
  "time_us",
  "frames",
  "pool_id",
  "filename",
  "name",
  "line",
  "address",
  "requested_size",
  "state",
  "history",
  "real_size",
  "device",
  "total_size",
  "segment_type",
  "segment_pool_id",
  "is_expandable",
  "blocks",
  "stage",
  "segments",
  "device_traces",
  "external_annotations",
] as const;

export type KeyName = (typeof KEYS)[number];

/** Id of each key. */
export const Key = Object.fromEntries(KEYS.map((name, id) => [name, id])) as Readonly<Record<KeyName, number>>;

/** Actions of trace entries, by code; 0 is an unknown action. */
const ACTIONS = [
  "?",
  "alloc",
  "free_requested",
  "free_completed",
  "segment_alloc",
  "segment_free",
  "segment_map",
  "segment_unmap",
  "snapshot",
  "oom",
] as const;

/** States of blocks, by code; 0 is an unknown state. `active_awaiting_free` is the documentation's name. */
const STATES = ["?", "active_allocated", "active_pending_free", "inactive", "active_awaiting_free"] as const;

/** The strings at the start of the table, in order of their ids. */
export const FIRST_TEXTS: readonly string[] = [...KEYS, ...ACTIONS.slice(1), ...STATES.slice(1)];
export const KEY_COUNT = KEYS.length;
const FIRST_ACTION = KEY_COUNT;
const FIRST_STATE = FIRST_ACTION + ACTIONS.length - 1;

/** Code of the action whose string has this id. */
export function actionCode(text: number): number {
  return text >= FIRST_ACTION && text < FIRST_STATE ? text - FIRST_ACTION + 1 : 0;
}

/** Code of the state whose string has this id. */
export function stateCode(text: number): number {
  return text >= FIRST_STATE && text < FIRST_TEXTS.length ? text - FIRST_STATE + 1 : 0;
}

/** Action codes by name, for comparisons with columns. */
export const Action = {
  alloc: 1,
  freeRequested: 2,
  freeCompleted: 3,
  segmentAlloc: 4,
  segmentFree: 5,
  segmentMap: 6,
  segmentUnmap: 7,
  snapshot: 8,
  oom: 9,
} as const;

/** State codes by name. */
export const State = { allocated: 1, pendingFree: 2, inactive: 3, awaitingFree: 4 } as const;
