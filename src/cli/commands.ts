import type { CommandSpec } from "./command.ts";

export interface CommandEntry {
  readonly description: string;
  /** Loaded only when asked for: start-up pays for one command. */
  readonly load: () => Promise<CommandSpec>;
}

/** Every command by name, in the order of the overview. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  demo: {
    description: "Show a clean change, a leak and its fix on this machine, in under a minute",
    load: async () => (await import("./demo.ts")).demo,
  },
  init: {
    description: "Write a commented stormlog-gate.yml and the workflows",
    load: async () => (await import("./init.ts")).init,
  },
  doctor: {
    description: "What can be measured here, and the reason for everything else",
    load: async () => (await import("./doctor.ts")).doctor,
  },
  record: { description: "Measure one run, leave a recording", load: async () => (await import("./record.ts")).record },
  run: { description: "Measure, judge, leave a bundle: the gate", load: async () => (await import("./run.ts")).run },
  analyze: {
    description: "Features, class and findings of recordings or telemetry",
    load: async () => (await import("./analyze.ts")).analyzeCommand,
  },
  judge: {
    description: "The verdict engine alone, on measurement files",
    load: async () => (await import("./judge.ts")).judgeCommand,
  },
  compare: {
    description: "Two recordings or bundles side by side",
    load: async () => (await import("./compare.ts")).compare,
  },
  baseline: {
    description: "Refresh, accept, list, show or verify baselines",
    load: async () => (await import("./baseline.ts")).baseline,
  },
  merge: {
    description: "Bundles of matrix legs, nodes or ranks as one verdict",
    load: async () => (await import("./merge.ts")).merge,
  },
  snapshot: {
    description: "PyTorch memory snapshots by source line, and which lines grow",
    load: async () => (await import("./snapshot.ts")).snapshot,
  },
  show: { description: "Print the report of a bundle", load: async () => (await import("./show.ts")).show },
  export: {
    description: "Write a bundle in another format",
    load: async () => (await import("./export.ts")).exportCommand,
  },
  lab: { description: "The leak lab: leaky against fixed", load: async () => (await import("./lab.ts")).lab },
};
