import { runSubAction } from "../sub-action.ts";

export const done = runSubAction("Stormlog report", async (action) => {
  const { report } = await import("./report.ts");
  return report(action);
});
