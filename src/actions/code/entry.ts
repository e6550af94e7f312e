import { loadPack } from "./loader.ts";

declare const STORMLOG_ENTRY: string;
declare const STORMLOG_DIGEST: string;

/** An error of the step: nothing was measured. */
const FAILED = 1;

/** The chunk that a step begins with exports the promise of its end. */
let load: ReturnType<typeof loadPack>;
try {
  load = loadPack(import.meta.url, STORMLOG_DIGEST);
} catch (error) {
  const why = (error instanceof Error ? error.message : String(error)).replace(/[\r\n%]+/g, " ");
  const hint =
    "Run the job again: it downloads the Action again. An earlier step of the job may have changed its files.";
  process.stdout.write(`::error title=Stormlog Gate%3A CODE_CHANGED::${why}. ${hint}\n`);
  process.exit(FAILED);
}
await load(STORMLOG_ENTRY).done;
