import type { Invocation } from "../console/command.ts";
import type { CommandName } from "./commands.ts";

/** Runs a command and returns the exit status. */
type CommandProgram = (invocation: Invocation) => Promise<number>;

/** The program of each command, loaded when it runs. */
export const PROGRAMS: Readonly<Record<CommandName, () => Promise<CommandProgram>>> = {
  demo: async () => (await import("./demo.ts")).demo,
  init: async () => (await import("./init.ts")).init,
  doctor: async () => (await import("./doctor.ts")).doctor,
  record: async () => (await import("./record.ts")).record,
  run: async () => (await import("./run.ts")).run,
  analyze: async () => (await import("./analyze.ts")).analyzeInputs,
  judge: async () => (await import("./judge.ts")).judgeFiles,
  compare: async () => (await import("./compare.ts")).compare,
  baseline: async () => (await import("./baseline.ts")).baseline,
  history: async () => (await import("./history.ts")).history,
  merge: async () => (await import("./merge.ts")).merge,
  bisect: async () => (await import("./bisect.ts")).bisect,
  culprit: async () => (await import("./culprit.ts")).culprit,
  snapshot: async () => (await import("./snapshot.ts")).snapshot,
  show: async () => (await import("./show.ts")).show,
  export: async () => (await import("./export.ts")).exportInto,
  lab: async () => (await import("./lab.ts")).lab,
};
