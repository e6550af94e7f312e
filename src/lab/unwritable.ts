import { codeOf, GateError, messageOf } from "../core/errors.ts";

/** Report a failed write into the directory of the lab's results. @throws GateError LAB_UNWRITABLE */
export function unwritable(directory: string, error: unknown): never {
  throw new GateError("LAB_UNWRITABLE", `the results cannot be written (${codeOf(error) ?? messageOf(error)})`, {
    where: directory,
    hint: "Name another directory with --output.",
  });
}
