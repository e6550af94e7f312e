import { parseSection, type Section, sectionText } from "../../../src/report/model/section.ts";
import { sampleSection } from "../testing/sample-section.ts";
import { fullReport } from "./full-report.ts";

/** The document of a full section, to be changed and read again. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Path = readonly (string | number)[];

export const text = sectionText(sampleSection({ report: fullReport() }));
export const fresh = (): Json => JSON.parse(text) as Json;

export function set(document: Json, path: Path, value: Json): Json {
  let at = document as Record<string | number, Json>;
  for (const key of path.slice(0, -1)) at = at[key] as Record<string | number, Json>;
  at[path.at(-1) as string] = value;
  return document;
}

export const read = (source: string | Buffer): Section => parseSection(Buffer.from(source as string), "the section");
