/** A JSON object as it was read. */
export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a parsed value has at most this many levels of objects and lists. */
export function isNestedWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((one) => isNestedWithin(one, levels - 1));
}
