import { expect, it } from "vitest";
import { formatStormlogBytes } from "./gap.ts";

it.each([
  [0, "0 B"],
  [1, "1.00 B"],
  [1023, "1023.00 B"],
  [1024, "1.00 KB"],
  [1536, "1.50 KB"],
  [1048575, "1024.00 KB"],
  [1048576, "1.00 MB"],
  [105310775, "100.43 MB"],
  [459117056, "437.85 MB"],
  [201424896, "192.09 MB"],
  [1073741824, "1.00 GB"],
  [1074266112, "1.00 GB"],
  [1099511627776, "1.00 TB"],
  [1125899906842624, "1.00 PB"],
  [2 ** 61, "2048.00 PB"],
  [-1, "-1.00 B"],
  [-2048, "-2048.00 B"],
])("writes %d bytes as %s", (bytes, text) => {
  expect(formatStormlogBytes(bytes)).toBe(text);
});
