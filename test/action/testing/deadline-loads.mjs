// Preloaded into a step, which then prints when it loads the clients of GitHub's services, and which of the deadlines
// for their answers run at that time.
import { registerHooks } from "node:module";

const { setTimeout: wait, clearTimeout: clear } = globalThis;
/** Of the uploads, the section and the comment, milliseconds. */
const DEADLINES = [60_000, 15_000, 30_000];
/** Strings that survive minifying: of the client of artifacts, of undici and of the client of the API. */
const CLIENTS = ["CreateArtifact", "UND_ERR_HEADERS_TIMEOUT", "secondary-limit"];
const running = new Map();
delete process.env.NODE_OPTIONS;

globalThis.setTimeout = Object.assign((work, ms, ...rest) => {
  const timer = wait(work, ms, ...rest);
  if (DEADLINES.includes(ms)) {
    running.set(timer, ms);
    console.log(`deadline of ${ms} ms`);
  }
  return timer;
}, wait);
globalThis.clearTimeout = (timer) => {
  running.delete(timer);
  clear(timer);
};
registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const deadlines = [...running.values()].join(", ") || "no";
    const text = String(loaded.source);
    for (const name of CLIENTS) if (text.includes(name)) console.log(`${name} loaded within ${deadlines} deadline`);
    return loaded;
  },
});
