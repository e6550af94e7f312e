import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import LongestFirst from "./test/testing/longest-first.ts";

/** What a pull request needs beside the unit tests: each command and each Action from end to end, once. */
const ESSENTIAL = [
  "test/{architecture,architecture-modules,check-commits,docs,options,schemas,troubleshooting}.test.ts",
  "test/action/{accept,accept-step,comment,end-to-end,fence,merge,publishing,refresh,refresh-github,rendering}.test.ts",
  "test/action/{report,secrets,start}.test.ts",
  "test/documents/*.test.ts",
  "test/e2e/{accept,base-runs,bisect,culprit,demo,first-steps,json-documents,lab,merge,node-growth}.test.ts",
  "test/e2e/{out-of-memory,package,peak,policy,verdict-first}.test.ts",
  "test/measure/{endings,one-recording,output,probe,shared-memory}.test.ts",
  "test/probe/{allocators,heap,phases,start,steps}.test.ts",
  "test/snapshot/reading.test.ts",
];
/**
 * These compare rates with the wall clock, fill hundreds of MiB, need all cores, find a line in the time that the gate
 * allows, or leave files that count in every run of the machine: each runs alone, after the rest.
 */
const ALONE = [
  "test/attribution/torch-leaks.test.ts",
  "test/e2e/inside.test.ts",
  "test/e2e/reproduce.test.ts",
  "test/e2e/walkthrough-page.test.ts",
  "test/e2e/left-behind.test.ts",
  "test/measure/peaks.test.ts",
  "test/measure/sampling.test.ts",
  "test/attribution/node-leaks.test.ts",
  "test/e2e/ranks.test.ts",
];
export default defineConfig({
  test: {
    // Against tests that hang: under four workers on two cores one of three seconds has taken thirty.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: "./test/testing/temporary.ts",
    reporters: ["default", "./test/testing/slowest-files.ts"],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["src/**/*.test.ts"],
          setupFiles: ["./test/testing/property-seed.ts"],
          // One process for many files: loading the modules took longer than the tests.
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "essential",
          include: ESSENTIAL,
          // Each starts processes of its own and waits for half of its time.
          maxWorkers: 2 * availableParallelism(),
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "full",
          include: ["test/**/*.test.ts"],
          exclude: [...ALONE, ...ESSENTIAL],
          // Measured programs that wait for a processor are judged by it: no more of them than there are.
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: { name: "alone", include: ALONE, fileParallelism: false, maxWorkers: 1, sequence: { groupOrder: 3 } },
      },
    ],
  },
});
