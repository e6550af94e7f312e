// Writes schema/: the published JSON Schemas, made from the validators that the program uses, so that the two
// cannot differ. `npm run schemas` writes; a test compares what is committed with a fresh result.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type ConversionConfig, type JsonSchema, toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { MeasurementsSchema } from "../src/analysis/measurements.ts";
import { AnalysisSchema } from "../src/analysis/series/document.ts";
import { BaselineRecordSchema } from "../src/baseline/record.ts";
import { ConfigSchema } from "../src/config/schema.ts";
import { packageRoot } from "../src/core/package-root.ts";
import { AnchorsSchema } from "../src/gate/scenario/anchor.ts";
import { LabDocumentSchema } from "../src/lab/report/document.ts";
import { ScaleDocumentSchema } from "../src/lab/report/scale-document.ts";
import { NightlyStateSchema } from "../src/nightly/state.ts";
import { BundleManifestSchema } from "../src/report/bundle/bundle.ts";
import { FeaturesFileSchema } from "../src/report/bundle/features-document.ts";
import { StormlogReportSchema } from "../src/report/documents/parse-report.ts";
import { REPORT_KIND } from "../src/report/model/payload.ts";
import { PayloadSchema } from "../src/report/model/report-schema.ts";
import { RecordingInfoSchema } from "../src/telemetry/recording/recording-schema.ts";
import { JudgementSchema } from "../src/verdict/model/judgement.ts";

interface Published {
  readonly title: string;
  readonly description: string;
  readonly schema: v.GenericSchema;
}

/** A gate's report: the envelope of every Stormlog report, with the gate's kind and payload. */
const GateReportSchema = v.strictObject({
  ...StormlogReportSchema.entries,
  report_kind: v.literal(REPORT_KIND),
  payload: PayloadSchema,
});

/** File name without `.schema.json` -> its schema. */
const PUBLISHED: Readonly<Record<string, Published>> = {
  config: {
    title: "stormlog.config/1",
    description: "stormlog-gate.yml: the scenarios to measure, their budgets, and how to judge them.",
    schema: ConfigSchema,
  },
  recording: {
    title: "stormlog.recording/1",
    description: "recording.json of a run directory: what was run, how it ended, what was measured and what was lost.",
    schema: RecordingInfoSchema,
  },
  features: {
    title: "stormlog.features/1",
    description:
      "features.json of a rank's run directory: what `merge` judges it by, with the digests of its files. Sizes in bytes.",
    schema: FeaturesFileSchema,
  },
  measurements: {
    title: "stormlog.measurements/1",
    description: "The features of runs of one scenario that are judged and stored. Sizes in bytes; null is unknown.",
    schema: MeasurementsSchema,
  },
  baseline: {
    title: "stormlog.baseline/1",
    description: "Accepted measurements of one scenario in one environment, in epochs; the last epoch is current.",
    schema: BaselineRecordSchema,
  },
  anchors: {
    title: "stormlog.anchors/1",
    description:
      "stormlog-anchors.json: levels that people accepted, against which slow creep is measured. Peaks in bytes.",
    schema: AnchorsSchema,
  },
  nightly: {
    title: "stormlog.nightly/1",
    description:
      "`.nightly/<gate>.json` on the baseline ref: results of the nightly runs of one gate. Reported, never used for a verdict.",
    schema: NightlyStateSchema,
  },
  manifest: {
    title: "Manifest of an evidence bundle",
    description:
      "manifest.json: every file of the bundle with size and digest, how the gate ended, and what is missing.",
    schema: BundleManifestSchema,
  },
  report: {
    title: "stormlog.report, version 1, kind memory_gate",
    description: "report.json of an evidence bundle; payload.verdict and payload.exit_code are authoritative.",
    schema: GateReportSchema,
  },
  analysis: {
    title: "stormlog.analysis/1",
    description: "The answer of `stormlog-gate analyze --json`.",
    schema: AnalysisSchema,
  },
  "lab-scale": {
    title: "stormlog.lab-scale/1",
    description:
      "lab-scale.json: from which size on the gate sees a pattern's leak, and every size that was judged. Sizes in bytes.",
    schema: ScaleDocumentSchema,
  },
  lab: {
    title: "stormlog.lab/1",
    description:
      "lab.json: a round of the leak lab, or recordings of its patterns read as one. Sizes in bytes; null is unknown.",
    schema: LabDocumentSchema,
  },
  judgement: {
    title: "Judgement",
    description:
      "The answer of `stormlog-gate judge --json`; `compare --json` adds both sides as `a` and `b`. Of several scenarios it is the answer for the worst, `scenario`, and `scenarios` has all.",
    schema: JudgementSchema,
  },
};

const CONVERSION: ConversionConfig = {
  target: "draft-2020-12",
  typeMode: "input",
  // JSON has no infinities, so a finite number is any number. Which of two keys is given only the parser checks.
  ignoreActions: ["finite", "check"],
  overrideSchema: ({ valibotSchema: one }) =>
    isRecord(one) ? recordSchema(one) : isTuple(one) ? tupleSchema(one) : null,
};

type AnyRecord = v.RecordSchema<v.GenericSchema<string, string | number | symbol>, v.GenericSchema, undefined>;

function isRecord(schema: { readonly type: string }): schema is AnyRecord {
  return schema.type === "record";
}

type AnyTuple = v.TupleSchema<v.TupleItems, undefined>;

function isTuple(schema: { readonly type: string }): schema is AnyTuple {
  return schema.type === "tuple";
}

/** The converter omits the number of items of a tuple. */
function tupleSchema({ items }: AnyTuple): JsonSchema {
  return { type: "array", prefixItems: items.map(bodyOf), items: false, minItems: items.length };
}

/** The converter supports records with free keys only; `propertyNames` restricts the keys. */
function recordSchema({ key, value }: AnyRecord): JsonSchema {
  return { type: "object", propertyNames: bodyOf(key), additionalProperties: bodyOf(value) };
}

function bodyOf(schema: v.GenericSchema): JsonSchema {
  const { $schema, ...body } = toJsonSchema(schema, CONVERSION);
  return body;
}

function textOf(name: string, { title, description, schema }: Published): string {
  const head = { $schema: "https://json-schema.org/draft/2020-12/schema", $id: `${name}.schema.json` };
  return `${JSON.stringify({ ...head, title, description, ...bodyOf(schema) }, null, 2)}\n`;
}

/** Every published schema by file name. */
export function schemaFiles(): ReadonlyMap<string, string> {
  return new Map(Object.entries(PUBLISHED).map(([name, one]) => [`${name}.schema.json`, textOf(name, one)]));
}

/** Where they are published. */
export const SCHEMA_FOLDER = path.join(packageRoot(), "schema");

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(SCHEMA_FOLDER, { recursive: true });
  const files = schemaFiles();
  for (const name of readdirSync(SCHEMA_FOLDER)) {
    if (name.endsWith(".schema.json") && !files.has(name)) rmSync(path.join(SCHEMA_FOLDER, name));
  }
  for (const [name, text] of files) {
    writeFileSync(path.join(SCHEMA_FOLDER, name), text);
    console.log(`schema/${name} (${Buffer.byteLength(text)} bytes)`);
  }
}
