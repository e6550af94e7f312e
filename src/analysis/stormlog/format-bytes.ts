const LABELS = ["B", "KB", "MB", "GB", "TB", "PB"] as const;

/**
 * A size as Stormlog writes it: powers of 1024 under decimal labels, two decimals, negatives never scaled. Only for
 * texts that must match Stormlog's; everything of our own is printed in binary units.
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
