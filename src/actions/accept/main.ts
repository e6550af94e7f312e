import { runSubAction } from "../sub-action.ts";

await runSubAction("Stormlog accept", async (action) => {
  const { accept } = await import("./accept.ts");
  return accept(action);
});
