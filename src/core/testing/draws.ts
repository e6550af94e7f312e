/** Share of a property's draws that a run of the tests makes. `npm run soak` makes all of them, from fresh seeds. */
const SHARE = Number(process.env.STORMLOG_TEST_DRAWS ?? "0.25");

/** Draws of a property to which `npm run soak` gives `count`. */
export const draws = (count: number): number => Math.ceil(count * SHARE);
