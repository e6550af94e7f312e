import { invalidInput } from "./errors.ts";

/** A JSON object as it was read. */
export type Json = Readonly<Record<string, unknown>>;

/** A type as a validator infers it, unchangeable at every level. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? T extends readonly [unknown, ...unknown[]]
    ? Readonly<T>
    : readonly DeepReadonly<Item>[]
  : T extends Map<infer Key, infer Value>
    ? ReadonlyMap<Key, DeepReadonly<Value>>
    : T extends Float64Array
      ? T
      : T extends object
        ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
        : T;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a parsed value has at most this many levels of objects and lists. */
export function isNestedWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((one) => isNestedWithin(one, levels - 1));
}

/** The schema of a document of the wanted kind ("stormlog.lines/1") in another version; null for any other document. */
export function otherVersion(json: unknown, wanted: string): string | null {
  const schema = isObject(json) ? json.schema : undefined;
  const kind = wanted.slice(0, wanted.indexOf("/") + 1);
  return typeof schema === "string" && schema.startsWith(kind) && schema !== wanted ? schema : null;
}

/** @throws GateError INPUT_SCHEMA_VERSION for a document of the wanted kind in another version */
export function checkVersion(json: unknown, wanted: string, where: string): void {
  const schema = otherVersion(json, wanted);
  if (schema === null) return;
  const message = `${where} has schema ${schema}; this version reads ${wanted}`;
  throw invalidInput("INPUT_SCHEMA_VERSION", message, where, "Update stormlog-gate.");
}
