import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "leak-lab/**/*.test.ts"],
    // Tests start real processes and time them: two at once is what a small CI machine can carry without starving them.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
