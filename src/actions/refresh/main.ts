import { runSubAction } from "../sub-action.ts";

export const done = runSubAction("Stormlog refresh", async (action) => {
  const { refresh } = await import("./refresh.ts");
  return refresh(action);
});
