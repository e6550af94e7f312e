import { runSubAction } from "../sub-action.ts";

await runSubAction("Stormlog refresh", async (action) => {
  const { refresh } = await import("./refresh.ts");
  return refresh(action);
});
