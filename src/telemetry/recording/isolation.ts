import * as v from "valibot";

/** What the measured command was kept from: `off` = it runs beside the gate. */
export const IsolationSchema = v.object({
  wanted: v.picklist(["auto", "off", "require"]),
  got: v.picklist(["user", "sudo", "root", "off"]),
  /** Why it is not the most; null where it is, or none was wanted. */
  reason: v.nullable(v.string()),
});
export type Isolation = Readonly<v.InferOutput<typeof IsolationSchema>>;
export type IsolationMode = Isolation["wanted"];
