import type { Environment } from "./environment.ts";

/** Set beside Node's variable where the gate, and not the workflow, turned the cache off for the rest of the job. */
export const CACHE_DISABLED = "STORMLOG_GATE_CACHE_DISABLED";

/** `node:module` in Node 22.8 and later; Node 20 has no compile cache. */
interface CacheModule {
  readonly getCompileCacheDir?: () => string | undefined;
}

/**
 * The directory of V8's compile cache in this process, or null. Node checks what it finds there by a CRC of the source
 * alone, so that code which may write to the directory decides what the next process of this user executes.
 */
export function compileCache(
  env: Environment,
  { getCompileCacheDir }: CacheModule = process.getBuiltinModule("node:module") as CacheModule,
  version: string = process.versions.node,
): string | null {
  if (getCompileCacheDir !== undefined) return getCompileCacheDir() ?? null;
  // Node 22.1 to 22.7 has the cache without the function.
  return version.startsWith("22.") ? env.NODE_COMPILE_CACHE || null : null;
}

/** The name of a variable that holds a token of a CI job, or null. */
export function tokenVariable(env: Environment): string | null {
  return Object.keys(env).find((name) => /^(?:ACTIONS|GH|GITHUB)_\w*TOKEN$/.test(name) && env[name]) ?? null;
}
