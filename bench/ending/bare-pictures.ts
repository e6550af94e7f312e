/** Draws the pictures of a bundle, light and dark, and nothing else. Usage: bare-pictures.ts BUNDLE */
import { readBundle } from "../../src/report/bundle/read-bundle.ts";
import { worstScenario } from "../../src/report/model/gate-report.ts";
import { renderTimelinePng } from "../../src/report/timeline/timeline-png.ts";

const { report } = await readBundle(process.argv[2] ?? "");
const timeline = worstScenario(report)?.timeline;
if (timeline === undefined || timeline === null) throw new Error("the bundle has no timeline");
const began = performance.now();
for (const theme of ["light", "dark"] as const) await renderTimelinePng(timeline, theme);
console.log(performance.now() - began);
