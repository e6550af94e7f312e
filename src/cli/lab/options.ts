import type { LabScale } from "../../lab/scale-size.ts";

/** Default directory of a round. */
export const LAB_DIRECTORY = "stormlog-lab";
/** Directory of searches by default; each pattern has its own below it. */
export const SCALE_DIRECTORY = "stormlog-lab-scale";
export const SCALES = ["tiny", "small", "article"] as const satisfies readonly LabScale[];
export const DEVICES = ["auto", "cpu", "cuda", "mps", "xpu"];
