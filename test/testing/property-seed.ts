import fc from "fast-check";

/**
 * The seed of every property test: the same in each run of the tests, so that a change and not a draw makes one red.
 * Fresh seeds are drawn by `npm run soak`.
 */
fc.configureGlobal({ seed: Number(process.env.STORMLOG_TEST_SEED ?? "1") });
