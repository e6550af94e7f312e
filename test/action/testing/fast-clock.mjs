// Preloaded into a step, whose time then runs STORMLOG_TEST_CLOCK times as fast: its deadlines, its pauses between
// writes and the retries of the clients in it keep their order and their proportions, and the test does not wait for
// them. Longer timers than STORMLOG_TEST_REAL_FROM_MS stay as they are: deadlines, where the waits before are tested.
const realFrom = Number(process.env.STORMLOG_TEST_REAL_FROM_MS ?? Number.POSITIVE_INFINITY);
const factor = Number(process.env.STORMLOG_TEST_CLOCK);
// A command that the step measures runs in real time.
delete process.env.STORMLOG_TEST_CLOCK;
delete process.env.STORMLOG_TEST_REAL_FROM_MS;
delete process.env.NODE_OPTIONS;
const { setTimeout: wait, setInterval: repeat } = globalThis;
const now = Date.now;
const begin = now();

Date.now = () => Math.round(begin + (now() - begin) * factor);
const scaled = (ms) => (ms >= realFrom ? ms : (ms ?? 0) / factor);
globalThis.setTimeout = Object.assign((work, ms, ...rest) => wait(work, scaled(ms), ...rest), wait);
globalThis.setInterval = (work, ms, ...rest) => repeat(work, (ms ?? 0) / factor, ...rest);
