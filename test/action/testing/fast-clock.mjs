// Preloaded into a step, whose time then runs STORMLOG_TEST_CLOCK times as fast: its deadlines, its pauses between
// writes and the retries of the clients in it keep their order and their proportions, and the test does not wait for
// them.
const factor = Number(process.env.STORMLOG_TEST_CLOCK);
// A command that the step measures runs in real time.
delete process.env.STORMLOG_TEST_CLOCK;
delete process.env.NODE_OPTIONS;
const { setTimeout: wait, setInterval: repeat } = globalThis;
const now = Date.now;
const begin = now();

Date.now = () => Math.round(begin + (now() - begin) * factor);
globalThis.setTimeout = Object.assign((work, ms, ...rest) => wait(work, (ms ?? 0) / factor, ...rest), wait);
globalThis.setInterval = (work, ms, ...rest) => repeat(work, (ms ?? 0) / factor, ...rest);
