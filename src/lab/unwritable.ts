import { GateError } from "../core/errors.ts";

/**
 * What a failed write into the folder of the lab's results means to a user.
 * @throws GateError LAB_UNWRITABLE
 */
export function unwritable(folder: string, error: NodeJS.ErrnoException): never {
  throw new GateError("LAB_UNWRITABLE", `the results cannot be written (${error.code ?? error.message})`, {
    kind: "error",
    where: folder,
    hint: "Name another folder with --output.",
  });
}
