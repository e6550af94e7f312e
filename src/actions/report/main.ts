import { runSubAction } from "../sub-action.ts";

await runSubAction("Stormlog report", async (action) => {
  const { report } = await import("./report.ts");
  return report(action);
});
