// The program is loaded from here, so that a limit which keeps it from being loaded is an error with a code, too.
import("./main.ts").catch((error: unknown) => {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "EMFILE" && code !== "ENFILE") throw error;
  process.stderr.write(
    "error TOO_MANY_OPEN_FILES: no more files can be opened\n  Raise the limit to 256 (ulimit -n).\n",
  );
  process.exitCode = 1;
});
