import "../../core/process/debug-signal.ts";

import { compileCache } from "../../core/process/compile-cache.ts";
import { loadPack } from "./loader.ts";

declare const STORMLOG_ENTRY: string;
declare const STORMLOG_DIGEST: string;

/** An error of the step: nothing was measured. */
const FAILED = 1;
const USAGE = 2;

function fail(status: number, code: string, why: string, hint: string): never {
  process.stdout.write(`::error title=Stormlog Gate%3A ${code}::${why.replace(/[\r\n%]+/g, " ")}. ${hint}\n`);
  process.exit(status);
}

// Before the step runs code of the change, which may write to the directory and so replace the code of later steps.
const cache = compileCache(process.env);
if (cache !== null) {
  fail(
    USAGE,
    "COMPILE_CACHE_SET",
    `V8's compile cache is in use (${cache}), and code that can write to it can replace the code of this step`,
    'Set NODE_COMPILE_CACHE to "" in the `env` of this step.',
  );
}

/** The chunk that a step begins with exports the promise of its end. */
let load: ReturnType<typeof loadPack>;
try {
  load = loadPack(import.meta.url, STORMLOG_DIGEST);
} catch (error) {
  fail(
    FAILED,
    "CODE_CHANGED",
    error instanceof Error ? error.message : String(error),
    "Run the job again: it downloads the Action again. An earlier step of the job may have changed its files.",
  );
}
await load(STORMLOG_ENTRY).done;
