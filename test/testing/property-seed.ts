import fc from "fast-check";
import { draws } from "../../src/core/testing/draws.ts";

/**
 * The seed of every property test: the same in each run of the tests, so that a change and not a draw makes one red.
 * Fresh seeds are drawn by `npm run soak`, which makes all draws.
 */
fc.configureGlobal({ seed: Number(process.env.STORMLOG_TEST_SEED ?? "1"), numRuns: draws(100) });
