/**
 * Turn SIGINT, SIGTERM and SIGHUP into an AbortSignal whose reason is the signal's name. The first one asks the gate to
 * end the measured tree and write its evidence; further ones change nothing, since that takes at most a few seconds.
 */
export function interruptSignal(): { readonly signal: AbortSignal; readonly dispose: () => void } {
  const controller = new AbortController();
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const handlers = names.map((name) => [name, () => controller.abort(name)] as const);
  for (const [name, handler] of handlers) process.on(name, handler);
  return {
    signal: controller.signal,
    dispose: () => {
      for (const [name, handler] of handlers) process.off(name, handler);
    },
  };
}
