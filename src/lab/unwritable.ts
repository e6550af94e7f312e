import { GateError } from "../core/errors.ts";

/** Report a failed write into the directory of the lab's results. @throws GateError LAB_UNWRITABLE */
export function unwritable(directory: string, error: NodeJS.ErrnoException): never {
  throw new GateError("LAB_UNWRITABLE", `the results cannot be written (${error.code ?? error.message})`, {
    kind: "error",
    where: directory,
    hint: "Name another directory with --output.",
  });
}
