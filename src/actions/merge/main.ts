import { runSubAction } from "../sub-action.ts";

await runSubAction("Stormlog merge", async (action) => {
  const { merge } = await import("./merge.ts");
  return merge(action);
});
