const LABELS = ["B", "KB", "MB", "GB", "TB", "PB"] as const;

/**
 * Formats a size like Stormlog: powers of 1024 under decimal labels, two decimals, negative values never scaled. Only
 * for strings that must match Stormlog's. All others use binary units.
 */
export function formatStormlogBytes(bytes: number): string {
  if (bytes === 0) return "0 B";
  let value = bytes;
  let label = 0;
  while (value >= 1024 && label < LABELS.length - 1) {
    value /= 1024;
    label++;
  }
  return `${value.toFixed(2)} ${LABELS[label]}`;
}
