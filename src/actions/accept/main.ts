import { runSubAction } from "../sub-action.ts";

export const done = runSubAction("Stormlog accept", async (action) => {
  const { accept } = await import("./accept.ts");
  return accept(action);
});
