// Preloaded with --import: appends the address of each file that Node loads as code to the file STORMLOG_LOAD_LOG.
// Where the process first opens a file below the directory STORMLOG_WORK, it appends WORK: what comes after is loaded
// during the work.
import fs from "node:fs";
import { register, syncBuiltinESMExports } from "node:module";

const log = process.env.STORMLOG_LOAD_LOG;
const work = process.env.STORMLOG_WORK;
const hooks = `
  import { appendFileSync } from "node:fs";
  export async function load(url, context, next) {
    if (url.startsWith("file:")) appendFileSync(${JSON.stringify(log)}, url + "\\n");
    return next(url, context);
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);

let begun = false;
for (const [owner, name] of [
  [fs, "openSync"],
  [fs, "readFileSync"],
  [fs, "statSync"],
  [fs.promises, "open"],
  [fs.promises, "readFile"],
  [fs.promises, "stat"],
]) {
  const original = owner[name];
  owner[name] = function (file, ...rest) {
    if (!begun && typeof file === "string" && file.startsWith(work)) {
      begun = true;
      fs.appendFileSync(log, "WORK\n");
    }
    return original.call(this, file, ...rest);
  };
}
syncBuiltinESMExports();
