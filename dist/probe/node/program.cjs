"use strict";

// What the parts of the probe in Node programs share: reporting a failure, timing a reading, following a function.

/** Writes to stderr without its stream, which a program may have replaced. */
const rawDebug = process._rawDebug;

/** Package managers only start the measured program. */
const WRAPPERS = /(?:^|[\\/])(?:npm|npx|yarn|pnpm|pnpx|corepack)(?:-cli)?(?:\.c?js|\.mjs)?$/;

const isPackageManager = () => WRAPPERS.test(process.argv[1] ?? "");

/** Print a failure of the probe, only with STORMLOG_GATE_DEBUG. */
function report(error, part = "attribution") {
  if (process.env.STORMLOG_GATE_DEBUG === "1") rawDebug(`stormlog-gate ${part}: ${error?.stack ?? error}`);
}

/** A function that returns the milliseconds this thread has worked since. */
function stopwatch() {
  const [began, used] = [performance.now(), process.cpuUsage()];
  return () => {
    const { user, system } = process.cpuUsage(used);
    // On a busy machine the clock runs on, and with several collecting threads the processor's time does.
    return Math.min(performance.now() - began, (user + system) / 1000);
  };
}

/** Replace `owner[name]` by a function that also calls `seen(owner, result)` after each call, and looks the same. */
function followCalls(owner, name, seen) {
  const original = owner[name];
  if (typeof original !== "function") return;
  const followed = {
    [name](...values) {
      const result = Reflect.apply(original, this, values);
      seen(this, result);
      return result;
    },
  }[name];
  Object.defineProperty(followed, "length", { value: original.length, configurable: true });
  Object.defineProperty(owner, name, { ...Object.getOwnPropertyDescriptor(owner, name), value: followed });
}

module.exports = { followCalls, isPackageManager, report, stopwatch };
