import * as v from "valibot";
import { invalidInput } from "../../core/errors.ts";
import { issueText } from "../../core/issue-text.ts";
import { checkVersion, type DeepReadonly } from "../../core/json.ts";
import { FramesSchema, type HeldEntry, type HeldSample, RetainerSchema, whole } from "./retainer.ts";

const SCHEMA = "stormlog.lines/1";

const bytes = v.pipe(v.number(), v.minValue(0), v.maxValue(Number.MAX_SAFE_INTEGER));

/** `stormlog.lines/1`: live memory by allocation stack in one sample of a process. Unknown keys are ignored. */
const LinesSchema = v.object({
  schema: v.literal(SCHEMA),
  pid: whole,
  /** 0-based number of the sample within the process. */
  moment: whole,
  step: v.nullable(v.number()),
  time_ns: v.nullable(v.number()),
  source: v.picklist(["tracemalloc", "torch-cpu", "v8-heap"]),
  total_bytes: bytes,
  lines: v.array(
    v.object({
      bytes,
      count: whole,
      kind: v.string(),
      stack: FramesSchema,
      operator: v.optional(v.string()),
      grad: v.optional(v.boolean()),
      autocast: v.optional(v.boolean()),
      copied_from: v.optional(v.string()),
      /** Index into `retainers`. */
      retainer: v.optional(whole),
    }),
  ),
  /** Retainers of the lines' memory. */
  retainers: v.optional(v.array(RetainerSchema), []),
  /** Blocks of devices with their retainers, by the stack in the device's history. */
  held_on_devices: v.optional(
    v.array(v.object({ device: v.string(), bytes, stack: FramesSchema, retainer: v.optional(whole) })),
    [],
  ),
  /** Counts of objects in the process, such as live optimizers. */
  facts: v.optional(v.record(v.string(), v.number()), {}),
  /** Limits of the observation, as sentences. */
  notes: v.optional(v.array(v.string()), []),
  /** Taken when the process ended before this sample: memory of its functions is already freed. */
  ended: v.optional(v.boolean(), false),
  /** Whether the memory itself could not be read. */
  unread: v.optional(v.boolean(), false),
});

/** One sample of one source of a process. */
export type LinesSample = DeepReadonly<ReturnType<typeof parseLines>>;

/** @throws GateError INPUT_SCHEMA_VERSION when a newer release wrote it, LINES_INVALID when it is not one */
export function parseLines(json: unknown, where: string) {
  checkVersion(json, SCHEMA, where);
  const parsed = v.safeParse(LinesSchema, json, { abortEarly: true });
  if (!parsed.success) {
    throw invalidInput("LINES_INVALID", issueText(parsed.issues[0]), where, `Expected a ${SCHEMA} document.`);
  }
  const { pid, moment, source, step, time_ns, total_bytes, retainers, facts, notes, ended, unread } = parsed.output;
  const entries = parsed.output.lines.map(({ copied_from: copiedFrom, retainer: index, ...line }): HeldEntry => {
    const retainer = index === undefined ? undefined : retainers[index];
    return {
      ...line,
      ...(copiedFrom === undefined ? {} : { copiedFrom }),
      ...(retainer === undefined ? {} : { retainer }),
    };
  });
  const sample: HeldSample = { step, timeNs: time_ns, totalBytes: total_bytes, entries };
  return {
    pid,
    moment,
    source,
    sample,
    /** Some of the blocks that growing containers retain on devices: enough to attribute each allocation. */
    heldOnDevices: parsed.output.held_on_devices.flatMap(({ retainer: index, ...block }) => {
      const retainer = index === undefined ? undefined : retainers[index];
      return retainer === undefined ? [] : [{ ...block, retainer }];
    }),
    facts,
    notes,
    /** Whether it was taken at the end of the process, in place of a sample that was not reached. */
    ended,
    unread,
  };
}
