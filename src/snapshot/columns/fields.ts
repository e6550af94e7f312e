import { Key, type KeyName } from "../model/keys.ts";
import { Kind } from "../pickle/values.ts";
import { Class } from "./containers.ts";

/** Fields of a segment's row. */
export const SegmentField = {
  device: 0,
  address: 1,
  totalSize: 2,
  stream: 3,
  pool: 4,
  expandable: 5,
  /** String id of "large" or "small". */
  type: 6,
  /** List id of its blocks. */
  blocks: 7,
} as const;

export const BlockField = { address: 0, size: 1, requestedSize: 2, state: 3, stack: 4, history: 5 } as const;
export const HistoryField = { realSize: 0, stack: 1 } as const;
export const AnnotationField = { name: 0, stage: 1, device: 2, time: 3 } as const;
/** List ids. */
export const TopField = { segments: 0, traces: 1, annotations: 2 } as const;

export const WIDTHS: Readonly<Record<number, number>> = {
  [Class.segment]: 8,
  [Class.block]: 6,
  [Class.history]: 2,
  [Class.annotation]: 4,
  [Class.top]: 3,
};

/** Kinds of the values that are stored as they are. */
export const VALUE_KINDS: Readonly<Record<Exclude<FieldValue, "stack" | "state">, readonly number[]>> = {
  number: [Kind.int, Kind.float],
  address: [Kind.int, Kind.upper],
  truth: [Kind.bool],
  text: [Kind.string],
  list: [Kind.list],
  pool: [Kind.pool],
};

/** Value of a field: a number, a boolean, the id of a string, list or pool, or the stack of a list of frames. */
type FieldValue = "number" | "address" | "truth" | "text" | "list" | "pool" | "stack" | "state";

export interface FieldRule {
  readonly field: number;
  readonly value: FieldValue;
}

const rules = (fields: Partial<Record<KeyName, readonly [number, FieldValue]>>): ReadonlyMap<number, FieldRule> =>
  new Map(Object.entries(fields).map(([name, [field, value]]) => [Key[name as KeyName], { field, value }]));

/** Field of each key, by class. Other keys are ignored. */
export const FIELDS: Readonly<Record<number, ReadonlyMap<number, FieldRule>>> = {
  [Class.segment]: rules({
    device: [SegmentField.device, "number"],
    address: [SegmentField.address, "address"],
    total_size: [SegmentField.totalSize, "number"],
    stream: [SegmentField.stream, "address"],
    segment_pool_id: [SegmentField.pool, "pool"],
    is_expandable: [SegmentField.expandable, "truth"],
    segment_type: [SegmentField.type, "text"],
    blocks: [SegmentField.blocks, "list"],
  }),
  [Class.block]: rules({
    address: [BlockField.address, "address"],
    size: [BlockField.size, "number"],
    requested_size: [BlockField.requestedSize, "number"],
    state: [BlockField.state, "state"],
    frames: [BlockField.stack, "stack"],
    history: [BlockField.history, "list"],
  }),
  [Class.history]: rules({ real_size: [HistoryField.realSize, "number"], frames: [HistoryField.stack, "stack"] }),
  [Class.annotation]: rules({
    name: [AnnotationField.name, "text"],
    stage: [AnnotationField.stage, "text"],
    device: [AnnotationField.device, "number"],
    time_us: [AnnotationField.time, "number"],
  }),
  [Class.top]: rules({
    segments: [TopField.segments, "list"],
    device_traces: [TopField.traces, "list"],
    external_annotations: [TopField.annotations, "list"],
  }),
};

/** The key that determines a dict's class. */
const TELLING: Partial<Record<KeyName, number>> = {
  filename: Class.frame,
  action: Class.trace,
  blocks: Class.segment,
  total_size: Class.segment,
  state: Class.block,
  real_size: Class.history,
  stage: Class.annotation,
  segments: Class.top,
  device_traces: Class.top,
};

/** Class by key id; 0 for a key that several classes have. */
export const CLASS_OF_KEY = Uint8Array.from(Object.keys(Key), (name) => TELLING[name as KeyName] ?? 0);
