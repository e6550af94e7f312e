import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { SCHEMA_FOLDER, schemaFiles } from "../scripts/generate-schemas.ts";
import { cli, freshDirectory } from "./e2e/cli.ts";

type Document = Record<string, unknown>;

/** The schema with every object closed: a key that is written but not published is found. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return "properties" in copy ? { ...copy, additionalProperties: false } : copy;
}

const validators = new Map<string, ValidateFunction>();

function validator(name: string): ValidateFunction {
  const known = validators.get(name);
  if (known !== undefined) return known;
  const schema: Document = JSON.parse(readFileSync(path.join(SCHEMA_FOLDER, `${name}.schema.json`), "utf8"));
  const made = new Ajv2020({ allErrors: true, strictTypes: false }).compile(closed(schema) as Document);
  validators.set(name, made);
  return made;
}

/** Errors of a document under the published schema; empty = valid. */
function problems(name: string, document: unknown): readonly string[] {
  const validate = validator(name);
  validate(document);
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** A workload that holds memory briefly, quick enough to be measured five times in a test. */
const WORKLOAD = `
const kept = [];
for (let step = 0; step < 6; step += 1) {
  kept.push(Buffer.alloc((process.argv[2] === "more" ? 24 : 4) << 20, 1));
  await new Promise((resolve) => setTimeout(resolve, 25));
}
`;

const CONFIG = `
schema: stormlog.config/1
scenarios:
  - name: small
    run: [node, work.mjs]
    horizon: 72h
    budget: { host: 4GiB }
    repeats: auto
policy:
  unjudged: warn
  max-runs: 2
  base-run: "off"
  known-leaks:
    - { package: pandas, versions: ["2.2.0"], at: read_csv, limit: 64KiB/step, until: 2999-01-31, reason: pinned }
  scaling: { max-exponent: 1.5, max-b: 2MiB }
report: { bundle: configured, warning-percent: 70, csv: true }
`;

const directory = freshDirectory();
const json = (...parts: string[]): Document => JSON.parse(readFileSync(path.join(directory, ...parts), "utf8"));
const answer = async ([command = "", ...args]: readonly string[]): Promise<Document> => {
  const { stdout, stderr, code } = await cli([command, "--json", ...args], { cwd: directory });
  if (stdout === "") throw new Error(`no document (exit ${code}): ${stderr}`);
  return JSON.parse(stdout);
};

describe("the published schemas", () => {
  it("the published schemas equal those of the validators; otherwise `npm run schemas` writes them", () => {
    const fresh = schemaFiles();
    const committed = readdirSync(SCHEMA_FOLDER).filter((name) => name.endsWith(".schema.json"));
    expect(committed.sort()).toEqual([...fresh.keys()].sort());
    for (const [name, text] of fresh) expect(readFileSync(path.join(SCHEMA_FOLDER, name), "utf8"), name).toBe(text);
  });

  it("the published schemas refuse other documents, unknown keys and wrong values", () => {
    for (const name of schemaFiles().keys()) {
      expect(problems(name.replace(".schema.json", ""), { schema: "something else" }), name).not.toEqual([]);
    }
    expect(problems("config", { scenarios: [{ name: "a", run: "true", budgt: {} }] })).not.toEqual([]);
    expect(problems("config", { scenarios: [{ name: "a", run: "true", budget: { memory: 1 } }] })).not.toEqual([]);
  });

  describe("fit what the programme writes", () => {
    let record: Document;
    let report: Document;

    beforeAll(async () => {
      writeFileSync(path.join(directory, "work.mjs"), WORKLOAD);
      writeFileSync(path.join(directory, "gate.yml"), CONFIG);
      const records: unknown = await answer(["baseline", "refresh", "--", "node", "work.mjs"]);
      record = (records as { record: Document }[])[0]?.record ?? {};
      report = await answer(["run", "--base-run", "off", "--max-runs", "2", "--", "node", "work.mjs", "more"]);
    });

    it("a configuration file that uses most keys fits its schema", () => {
      expect(problems("config", parse(CONFIG))).toEqual([]);
    });

    it("the record of a refresh fits its schema, on stdout and in the store", () => {
      expect(problems("baseline", record)).toEqual([]);
      const [file = ""] = readdirSync(path.join(directory, "baselines", "default"));
      expect(problems("baseline", json("baselines", "default", file))).toEqual([]);
    });

    it("the report of a failed gate fits its schema, on stdout and in the bundle", () => {
      expect((report.payload as Document).verdict).toBe("fail");
      expect(problems("report", report)).toEqual([]);
      expect(problems("report", json("stormlog-bundle", "report.json"))).toEqual([]);
    });

    it("the report of a command that fails fits its schema", async () => {
      const failed = await answer(["run", "--bundle", "failed", "--", "node", "-e", "process.exit(7)"]);
      expect((failed.payload as Document).verdict).toBe("error");
      expect(problems("report", failed)).toEqual([]);
      expect(problems("manifest", json("failed", "manifest.json"))).toEqual([]);
    });

    it("the report and manifest of a configured run fit their schemas", async () => {
      const configured = await answer(["run", "--config", "gate.yml", "--vary", "N=1,2", "--fits", "4GiB"]);
      expect(problems("report", configured)).toEqual([]);
      expect((configured.payload as Document).scaling).toHaveLength(1);
      const manifest = json("configured", "manifest.json") as { files: { path: string }[] };
      expect(problems("manifest", manifest)).toEqual([]);
      const events = (files: typeof manifest.files) => files.filter((one) => one.path.endsWith("/events.csv")).length;
      expect(events(manifest.files)).toBeGreaterThan(0);
      expect(events((json("stormlog-bundle", "manifest.json") as typeof manifest).files)).toBe(0);
    });

    it("the other documents of a bundle fit their schemas", () => {
      expect(problems("manifest", json("stormlog-bundle", "manifest.json"))).toEqual([]);
      expect(problems("measurements", json("stormlog-bundle", "measurements.json"))).toEqual([]);
      expect(problems("recording", json("stormlog-bundle", "runs", "default", "1", "recording.json"))).toEqual([]);
    });

    it("an analysis of a run and one of another tool's table fit their schema", async () => {
      expect(problems("analysis", await answer(["analyze", "stormlog-bundle/runs/default/1"]))).toEqual([]);
      const rows = Array.from({ length: 60 }, (_, step) => `${step},${step % 2},cuda:0,${(step + 1) << 22},`);
      const header = "step,rank,device,allocated_bytes,used_bytes";
      writeFileSync(path.join(directory, "table.csv"), `${[header, ...rows].join("\n")}\n`);
      const analysis = await answer(["analyze", "table.csv"]);
      expect(analysis.series).toHaveLength(4);
      expect(problems("analysis", analysis)).toEqual([]);
    });

    it("the answers of judge and compare fit their schema", async () => {
      const sides = ["--baseline", `bundle.json`, "--candidate", "stormlog-bundle"];
      writeFileSync(path.join(directory, "bundle.json"), JSON.stringify(record));
      expect(problems("judgement", await answer(["judge", ...sides]))).toEqual([]);
      const { a, b, ...judgement } = await answer(["compare", "bundle.json", "stormlog-bundle"]);
      expect([a, b]).toMatchObject([{ file: "bundle.json" }, { file: "stormlog-bundle" }]);
      expect(problems("judgement", judgement)).toEqual([]);
    });
  });
});
