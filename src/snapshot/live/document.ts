import { byProcess, type SnapshotName } from "../model/file-names.ts";
import { type Frame, relativePath, userFrames } from "../model/frames.ts";
import { Action, State } from "../model/keys.ts";
import type { TorchSnapshot } from "../model/snapshot.ts";
import { poolUse } from "./fragmentation.ts";
import { allocatedBytes, devicesOf } from "./live.ts";
import { largestBlocks, liveByLine } from "./live-rows.ts";
import { ownersOf } from "./owners.ts";
import { compareLines, growthOverSnapshots, type SnapshotLine } from "./snapshot-growth.ts";
import { stepEnds } from "./steps.ts";
import { survivorsByLine } from "./survivors.ts";
import type {
  BlockRow,
  FileRow,
  GrowthRow,
  LiveRow,
  Origin,
  PoolRow,
  SnapshotDocument,
  SurvivorRow,
} from "./tables.ts";

/** A snapshot with its file's name. */
export interface NamedSnapshot {
  readonly file: string;
  readonly name: SnapshotName;
  readonly snapshot: TorchSnapshot;
}

export const deviceName = (device: number): string => `cuda:${device}`;

const known = (value: number): number | null => (Number.isNaN(value) ? null : value);

function stepOf({ name, snapshot }: NamedSnapshot): number | null {
  const { length } = stepEnds(snapshot.annotations);
  return name.step ?? (length > 0 ? length : null);
}

function fileRow(one: NamedSnapshot): FileRow {
  const { file, name, snapshot } = one;
  const { blocks, segments, stacks, traces } = snapshot;
  let allocated = 0;
  let recorded = 0;
  for (let i = 0; i < blocks.count; i++) {
    if (blocks.state[i] !== State.allocated) continue;
    allocated++;
    if (stacks.depth(blocks.stack[i] as number) > 0) recorded++;
  }
  return {
    snapshot: file,
    rank: name.rank,
    step: stepOf(one),
    devices: devicesOf(snapshot).map(deviceName),
    reserved_bytes: segments.totalSize.reduce((sum, bytes) => sum + bytes, 0),
    allocated_bytes: allocatedBytes(snapshot),
    segments: segments.count,
    blocks: blocks.count,
    trace_entries: traces.reduce((total, { length }) => total + length, 0),
    allocated_blocks: allocated,
    recorded_blocks: recorded,
    out_of_memory: traces.flatMap((trace) => outOfMemory(trace)),
  };
}

function outOfMemory({ action, size, addr }: TorchSnapshot["traces"][number]): FileRow["out_of_memory"] {
  const rows: { requested_bytes: number | null; free_bytes: number | null }[] = [];
  for (let i = action.indexOf(Action.oom); i >= 0; i = action.indexOf(Action.oom, i + 1)) {
    rows.push({ requested_bytes: known(size[i] as number), free_bytes: known(addr[i] as number) });
  }
  return rows;
}

/** Longest directory that contains all files; null when that is only the file system's root. */
function commonDirectory(files: readonly string[]): string | null {
  const [first, ...rest] = files.map((file) => file.split("/").slice(0, -1));
  if (first === undefined) return null;
  let shared = first.length;
  for (const parts of rest) {
    let same = 0;
    while (same < shared && parts[same] === first[same]) same++;
    shared = same;
  }
  const directory = first.slice(0, shared).join("/");
  return directory === "" ? null : directory;
}

/** The directory that file names are relative to: the given one if it contains files, else their common one. */
export function rootOf(files: readonly NamedSnapshot[], given: string | null): string | null {
  const isUser = userFrames({ root: given });
  const own = new Set<string>();
  for (const { snapshot } of files) {
    for (let frame = 0; frame < snapshot.stacks.frameCount; frame++) {
      const shown = snapshot.stacks.frameAt(frame);
      if (isUser(shown)) own.add(shown.file.replaceAll("\\", "/"));
    }
  }
  const all = [...own];
  if (given !== null && all.some((file) => relativePath(file, given) !== file)) return given;
  return commonDirectory(all.filter((file) => file.includes("/") && !file.startsWith("<")));
}

/** Tables of snapshots: a listing of one file, or a process's growth. `root`: the repository if known; never read. */
export function snapshotDocument(
  files: readonly NamedSnapshot[],
  options: { readonly root: string | null; readonly exclude?: readonly string[] },
): SnapshotDocument {
  const root = rootOf(files, options.root);
  const isUserFrame = userFrames({ root: options.root, exclude: options.exclude ?? [] });
  const place = ({ file, line, function: name }: Frame): Frame => ({
    file: relativePath(file, root),
    line,
    function: name,
  });
  const live: LiveRow[] = [];
  const largest: BlockRow[] = [];
  const growth: GrowthRow[] = [];
  const discarded: GrowthRow[] = [];
  const survivors: SurvivorRow[] = [];
  const pools: PoolRow[] = [];
  const notes: string[] = [];
  const groups = byProcess(files);
  for (const group of groups) {
    const last = group.at(-1) as NamedSnapshot;
    const { snapshot } = last;
    const { rank } = last.name;
    const origin = (device: number): Origin => ({ snapshot: last.file, rank, device: deviceName(device) });
    const row = <T extends { readonly device: number }>({ device, ...rest }: T) => ({ ...origin(device), ...rest });
    const owners = ownersOf(snapshot.stacks, isUserFrame);
    for (const line of liveByLine(snapshot, owners)) {
      live.push({ ...row(line), ...place(line), stack: line.stack.map(place) });
    }
    for (const block of largestBlocks(snapshot, owners, 20)) {
      largest.push({ ...row(block), ...place(block) });
    }
    pools.push(...poolUse(snapshot).map(row));
    for (const trace of snapshot.traces) {
      const window = { from: 0, to: trace.length, before: null };
      const survived = survivorsByLine(snapshot, owners, trace, window, stepEnds(snapshot.annotations));
      for (const [line, own] of survived.lines) {
        const owner = owners.lines[line];
        if (owner === undefined || own.survivors === 0) continue;
        survivors.push({ ...origin(trace.device), ...place(owner.frame), ...own });
      }
      if (!survived.conclusive) {
        notes.push(
          `${last.file}: the trace shows no trend: it has fewer than three steps or passes, or is short beside the lifetime of short-lived memory`,
        );
      }
    }
    const moments = group.map((one) => ({ snapshot: one.snapshot, step: stepOf(one) }));
    for (const { device, growth: found, traced } of growthOverSnapshots(moments, isUserFrame)) {
      const growthRow = (line: SnapshotLine): GrowthRow => ({
        ...place(line),
        rank,
        device: deviceName(device),
        user: line.user,
        trend: line.trend,
        growth_bytes: line.growthBytes,
        bytes_per_step: line.bytesPerStep,
        bytes_per_s: line.bytesPerSecond,
        share: line.share,
        blocks_growth: line.countGrowth,
        kept_share: line.keptShare,
        bytes: line.bytes,
        stack: line.stack.map(place),
      });
      growth.push(...found.lines.map(growthRow));
      discarded.push(...found.discarded.map(growthRow));
      if (group.length === 2 && !traced && found.lines.some(({ trend }) => trend === "unproven")) {
        notes.push(
          "two snapshots cannot distinguish a leak from a one-time allocation: take a third at the same point of a step",
        );
      }
    }
  }
  return {
    schema: "stormlog.snapshot/1",
    root,
    snapshots: groups.flat().map(fileRow),
    live: live.sort((a, b) => b.bytes - a.bytes),
    largest: largest.sort((a, b) => b.bytes - a.bytes),
    growth: growth.sort(byTrend),
    discarded: discarded.sort(byTrend),
    survivors: survivors.sort((a, b) => b.surviving_bytes - a.surviving_bytes),
    pools,
    notes: [...new Set(notes)],
  };
}

function byTrend(a: GrowthRow, b: GrowthRow): number {
  return compareLines(
    { trend: a.trend, keptShare: a.kept_share, growthBytes: a.growth_bytes },
    { trend: b.trend, keptShare: b.kept_share, growthBytes: b.growth_bytes },
  );
}
