import * as v from "valibot";
import { invalidInput } from "../../core/errors.ts";
import { issueText } from "../../core/issue-text.ts";
import { checkVersion } from "../../core/json.ts";
import type { Frame } from "../model/frames.ts";
import type { LiveSample } from "./line-growth.ts";
import type { HeldEntry, HeldSample, Retainer } from "./retainer.ts";

const SCHEMA = "stormlog.lines/1";

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const bytes = v.pipe(v.number(), v.minValue(0), v.maxValue(Number.MAX_SAFE_INTEGER));

const frames = v.array(v.object({ file: v.string(), line: whole, function: v.string() }));

const RetainerSchema = v.object({
  container: v.string(),
  name: v.nullable(v.string()),
  owner: v.nullable(v.string()),
  length: v.optional(whole),
  stack: frames,
  graphs: v.optional(
    v.object({ roots: whole, scalars: whole, freed: whole, saving: whole, leaves: whole, parameters: whole }),
  ),
});

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
      stack: frames,
      operator: v.optional(v.string()),
      grad: v.optional(v.boolean()),
      autocast: v.optional(v.boolean()),
      copied_from: v.optional(v.string()),
      /** Index into `retainers`. */
      retainer: v.optional(whole),
    }),
  ),
  /** Live bytes of stacks too small to be listed. */
  others_bytes: v.optional(bytes, 0),
  /** Retainers of the lines' memory. */
  retainers: v.optional(v.array(RetainerSchema), []),
  /** Blocks of devices with their retainers, by the stack in the device's history. */
  held_on_devices: v.optional(
    v.array(v.object({ device: v.string(), bytes, stack: frames, retainer: v.optional(whole) })),
    [],
  ),
  /** Counts of objects in the process, such as live optimizers. */
  facts: v.optional(v.record(v.string(), v.number()), {}),
  /** Limits of the observation, as sentences. */
  notes: v.optional(v.array(v.string()), []),
  /** Taken when the process ended before this sample: memory of its functions is already freed. */
  ended: v.optional(v.boolean(), false),
});

/** A block of a device that a retainer in the process holds. */
export interface HeldBlock {
  readonly device: string;
  readonly bytes: number;
  /** Stack of its allocation in the device's history, innermost first. */
  readonly stack: readonly Frame[];
  readonly retainer: Retainer;
}

/** One sample of one source of a process. */
export interface LinesSample {
  readonly pid: number;
  readonly moment: number;
  readonly source: "tracemalloc" | "torch-cpu" | "v8-heap";
  readonly sample: HeldSample;
  /** Some of the blocks that growing containers retain on devices: enough to attribute each allocation. */
  readonly heldOnDevices: readonly HeldBlock[];
  readonly facts: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
  /** Whether it was taken at the end of the process, in place of a sample that was not reached. */
  readonly ended: boolean;
}

/** @throws GateError INPUT_SCHEMA_VERSION when a newer release wrote it, LINES_INVALID when it is not one */
export function parseLines(json: unknown, where: string): LinesSample {
  checkVersion(json, SCHEMA, where);
  const parsed = v.safeParse(LinesSchema, json, { abortEarly: true });
  if (!parsed.success) {
    throw invalidInput("LINES_INVALID", issueText(parsed.issues[0]), where, `Expected a ${SCHEMA} document.`);
  }
  const { pid, moment, source, step, time_ns, total_bytes, lines, facts, notes, ended } = parsed.output;
  const retainers = parsed.output.retainers.map(
    ({ container, name, owner, length, stack, graphs }): Retainer => ({
      container,
      name,
      owner,
      length: length ?? null,
      stack,
      graphs: graphs ?? null,
    }),
  );
  const entries = lines.map((line): HeldEntry => entryOf(line, retainers));
  return {
    pid,
    moment,
    source,
    sample: { step, timeNs: time_ns, totalBytes: total_bytes, entries },
    heldOnDevices: parsed.output.held_on_devices.flatMap(({ device, bytes: size, stack: own, retainer: index }) => {
      const retainer = index === undefined ? undefined : retainers[index];
      return retainer === undefined ? [] : [{ device, bytes: size, stack: own, retainer }];
    }),
    facts,
    notes,
    ended,
  };
}

function entryOf(line: v.InferOutput<typeof LinesSchema>["lines"][number], retainers: readonly Retainer[]): HeldEntry {
  const { bytes: size, count, kind, stack, operator, grad, autocast, copied_from } = line;
  const retainer = line.retainer === undefined ? undefined : retainers[line.retainer];
  return {
    bytes: size,
    count,
    kind,
    stack,
    ...(operator === undefined ? {} : { operator }),
    ...(grad === undefined ? {} : { grad }),
    ...(autocast === undefined ? {} : { autocast }),
    ...(copied_from === undefined ? {} : { copiedFrom: copied_from }),
    ...(retainer === undefined ? {} : { retainer }),
  };
}

/** Samples of one process and source, in order, ready for {@link growthByLine}. */
export interface LinesSeries {
  readonly pid: number;
  readonly source: LinesSample["source"];
  readonly samples: readonly LiveSample[];
}

/** Samples grouped by process and source, in the order of their numbers. */
export function linesSeries(moments: readonly LinesSample[]): readonly LinesSeries[] {
  const groups = new Map<string, LinesSample[]>();
  for (const moment of moments) {
    const key = `${moment.pid} ${moment.source}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [moment]);
    else group.push(moment);
  }
  return [...groups.values()].flatMap((group) => {
    const ordered = [...group].sort((a, b) => a.moment - b.moment);
    const [first] = ordered;
    if (first === undefined) return [];
    return [{ pid: first.pid, source: first.source, samples: ordered.map(({ sample }) => sample) }];
  });
}
