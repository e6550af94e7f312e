import { runSubAction } from "../sub-action.ts";

export const done = runSubAction("Stormlog merge", async (action) => {
  const { merge } = await import("./merge.ts");
  return merge(action);
});
