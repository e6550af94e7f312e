import "../core/process/debug-signal.ts";

import { codeOf } from "../core/errors.ts";
import { printAnswer } from "./help/answers.ts";

/**
 * The program is loaded from here, so that a limit which keeps it from being loaded is an error with a code, too.
 * Built, this file has everything that help and the version need, and the program is in others.
 */
async function start(): Promise<void> {
  const answered = await printAnswer(process.argv.slice(2));
  if (answered !== null) {
    process.exitCode = answered;
    return;
  }
  try {
    await import("./main.ts");
  } catch (error) {
    const code = codeOf(error);
    if (code !== "EMFILE" && code !== "ENFILE") throw error;
    process.stderr.write(
      "error TOO_MANY_OPEN_FILES: no more files can be opened\n  Raise the limit to 256 (ulimit -n).\n",
    );
    process.exitCode = 1;
  }
}

await start();
