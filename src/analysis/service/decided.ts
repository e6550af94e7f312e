import { median } from "../../stats/order-statistics.ts";
import { materialChange } from "../trend/materiality.ts";
import { cyclesDecide } from "./classify-cycles.ts";

/** Whether the host memory that a service held at its rests, bytes, shows that further cycles would change nothing. */
export const isDecided = (levels: readonly number[]): boolean =>
  levels.length > 0 && cyclesDecide(levels, materialChange(median(levels), { metric: "host", device: "host" }));
