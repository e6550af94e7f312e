import { defineConfig } from "vitest/config";

/** Tests that time real processes, or judge what was measured of them: they need the machine to themselves. */
const TIMED = [
  "test/measure/**/*.test.ts",
  "test/e2e/**/*.test.ts",
  "test/cluster/**/*.test.ts",
  "test/devices/**/*.test.ts",
];

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: "parallel",
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: TIMED,
          // Many of these start processes too: two at once is what a small CI machine can carry.
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: "timed", include: TIMED, fileParallelism: false, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
