const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

/** A size as Stormlog prints it in event texts: 1024-based, two decimals, "0 B" for zero; negative sizes are not scaled. */
export function formatBytes(bytes: number): string {
  if (bytes === 0) return "0 B";
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value.toFixed(2)} ${UNITS[unit]}`;
}
