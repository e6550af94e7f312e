import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../core/package-root.ts";
import { HEADER_BYTES, RECORD_BYTES, RECORD_MAGIC, RecordKind, RecordSource } from "../../sampler/record-layout.ts";
import { RECENT_CAPACITY, RECENT_MAGIC } from "../reading/recent-records.ts";

const header = (name: string): string => readFileSync(path.join(packageRoot(), "native", name), "utf8");

/** Names and numbers of an enumeration of a header, `kDeviceProcess = 5` as `deviceProcess`. */
function enumeration(text: string, name: string): Record<string, number> {
  const [, body = ""] = new RegExp(`enum class ${name} [^{]*\\{([^}]*)\\}`).exec(text) ?? [];
  return Object.fromEntries(
    [...body.matchAll(/k(\w)(\w*) = (\d+)/g)].map(([, first = "", rest, number]) => [
      `${first.toLowerCase()}${rest}`,
      Number(number),
    ]),
  );
}

/** A magic as its header spells it: characters, and one escaped byte. */
const magic = (text: string, name: string): string =>
  [...(new RegExp(`${name}\\[8\\] = \\{([^}]*)\\}`).exec(text)?.[1] ?? "").matchAll(/'(\\x(..)|\\n|.)'/g)]
    .map(([, one = "", hex]) => (hex === undefined ? one.replace("\\n", "\n") : String.fromCharCode(Number(hex))))
    .join("");

describe("the layout of the record file", () => {
  it("the layout of the record file is the same in the native sampler and its readers", () => {
    const text = header("record_format.h");
    expect(enumeration(text, "RecordKind")).toEqual(RecordKind);
    expect(enumeration(text, "RecordSource")).toEqual(RecordSource);
    expect(magic(text, "kRecordMagic")).toBe(RECORD_MAGIC);
    expect(text).toContain(`kHeaderBytes = ${HEADER_BYTES};`);
    expect(text).toContain(`kRecordBytes = ${RECORD_BYTES};`);
  });

  it("the layout of the newest records is the same in the native sampler and its readers", () => {
    const text = header("records/recent_records.h");
    expect(magic(text, "kRecentMagic")).toBe(RECENT_MAGIC);
    expect(text).toContain(`kCapacity = ${RECENT_CAPACITY};`);
  });
});
