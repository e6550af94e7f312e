import { groupBy } from "../../core/group-by.ts";
/** Facts from the name of a snapshot file. */
export interface SnapshotName {
  readonly rank: number | null;
  readonly step: number | null;
  /** Files of one process share it: the name without step and sample number, or the rank. */
  readonly process: string;
  /** Order within the process without steps: the number of a probe's snapshot. */
  readonly moment: number | null;
}

/** Rank and step from a name such as `snapshot_rank1_step20.pickle`. */
export function snapshotName(path: string): SnapshotName {
  const name = path.split(/[\\/]/).at(-1) ?? path;
  const number = (match: RegExpExecArray | null): number | null => (match === null ? null : Number(match[1]));
  const rank = number(/(?:^|[^a-z])rank[_.-]?(\d{1,6})(?!\d)/i.exec(name));
  // `<pid>.<n>.snapshot.<k>.pickle`, as the probe writes it.
  const moment = /^(\d+\.\d+)\.snapshot\.(\d+)\./.exec(name);
  return {
    rank,
    step: number(/(?:^|[^a-z])(?:step|iter|iteration)[_.-]?(\d{1,12})(?!\d)/i.exec(name)),
    process: rank !== null ? `rank ${rank}` : moment !== null ? `process ${moment[1]}` : "",
    moment: moment === null ? null : Number(moment[2]),
  };
}

/** Files by process, by step if every file names one (shells sort `step10` first), else by number, or as given. */
export function byProcess<T extends { readonly name: SnapshotName }>(files: readonly T[]): readonly (readonly T[])[] {
  return [...groupBy(files, ({ name }) => name.process).values()].map((group) => {
    for (const order of ["step", "moment"] as const) {
      if (group.every(({ name }) => name[order] !== null)) {
        return [...group].sort((a, b) => (a.name[order] ?? 0) - (b.name[order] ?? 0));
      }
    }
    return group;
  });
}
