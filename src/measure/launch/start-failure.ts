import { findExecutable } from "../../core/process/find-executable.ts";
import type { ExitState } from "../../telemetry/recording/model.ts";

type NotStarted = Extract<ExitState, { kind: "not-started" }>;

const notStarted = (code: string, message: string): NotStarted => ({ kind: "not-started", code, message });

/** Why a command did not start: the file system distinguishes the causes that share an `errno` name (`ENOENT`, …). */
export async function explainStartFailure(
  errno: string,
  name: string,
  cwd: string,
  searchPath: string | undefined,
): Promise<NotStarted> {
  const found = await findExecutable(name, cwd, searchPath);
  switch (found.kind) {
    case "missing":
      return name.includes("/")
        ? notStarted("COMMAND_NOT_FOUND", `the command "${name}" does not exist in ${cwd}`)
        : notStarted("COMMAND_NOT_FOUND", `the command "${name}" is not on PATH`);
    case "directory":
      return notStarted("COMMAND_IS_DIRECTORY", `the command "${name}" is a directory`);
    case "not-executable":
      return notStarted(
        "COMMAND_NOT_EXECUTABLE",
        `"${found.path}" is not executable; give it the x permission, or put its interpreter in front of it`,
      );
    case "found":
      break;
  }
  switch (errno) {
    case "ENOENT":
      return notStarted(
        "COMMAND_INTERPRETER_MISSING",
        `"${found.path}" exists, but the interpreter it names (#! line or ELF loader) does not`,
      );
    case "ENOEXEC":
      return notStarted(
        "COMMAND_NOT_EXECUTABLE",
        `"${found.path}" is in no format this machine can run (no #! line, or built for another architecture)`,
      );
    case "E2BIG":
      return notStarted("COMMAND_TOO_LONG", "the arguments and the environment are larger than the system allows");
    case "EACCES":
    case "EPERM":
      return notStarted("COMMAND_NOT_EXECUTABLE", `the system does not permit running "${found.path}" (${errno})`);
    default:
      return notStarted("COMMAND_NOT_STARTED", `"${found.path}" could not be started (${errno})`);
  }
}
