import { cpSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, it } from "vitest";
import "../devices/testing/from-sources.ts";
import { SCHEMA_FOLDER } from "../../scripts/generate-schemas.ts";
import type { AnalysisDocument } from "../../src/analysis/series/document.ts";
import { formatBytes } from "../../src/core/units.ts";
import type { LabDocument, LabPattern } from "../../src/lab/report/document.ts";
import { BrowserPage, findChromium } from "../../src/report/testing/browser.ts";
import { noFakeNvml } from "../devices/testing/fake-nvml.ts";
import { cli, freshDirectory } from "../e2e/cli.ts";
import { recordDevicePattern } from "./testing/device-recordings.ts";

const absent = noFakeNvml();
const chromium = findChromium();
const MIB = 1024 ** 2;

/** Everything is a real process; the driver and PyTorch of the device are stand-ins. */
describe.skipIf(absent !== null)(
  `a CPU round beside recordings of a device${absent === null ? "" : ` (${absent})`}`,
  () => {
    const directory = freshDirectory();
    const json = (...parts: string[]): unknown => JSON.parse(readFileSync(path.join(directory, ...parts), "utf8"));
    let rounds: readonly LabDocument[];
    let printed: string;
    let markdown: string;

    beforeAll(async () => {
      // The verdicts of so short a round are not tested here.
      await cli(["lab", "run", "python_cache", "--steps", "40", "--output", "cpu"], { cwd: directory });
      const device = path.join(directory, "device");
      await recordDevicePattern(device, { name: "python_cache", steps: 40, keptKib: 512, modelMib: 64 });
      await recordDevicePattern(device, {
        name: "validation_outputs",
        steps: 60,
        keptKib: 16 * 1024,
        modelMib: 64,
        totalMib: 400,
      });
      for (const state of ["leaky", "fixed"]) {
        mkdirSync(path.join(directory, "stormlog", "python_cache", state), { recursive: true });
        const telemetry = path.join("python_cache", state, "events.json");
        cpSync(path.join(device, telemetry), path.join(directory, "stormlog", telemetry));
      }
      const { stdout, stderr, code } = await cli(["lab", "report", "--json", "cpu", "device", "--output", "page"], {
        cwd: directory,
      });
      expect(code, stderr).toBe(0);
      rounds = JSON.parse(stdout).rounds;
      printed = stderr;
      markdown = readFileSync(path.join(directory, "page", "leak-lab.md"), "utf8");
    }, 280_000);

    const patternOf = (place: number, name: string): LabPattern => {
      const found = rounds[place]?.patterns.find((one) => one.name === name);
      if (found === undefined) throw new Error(`no ${name} in place ${place}`);
      return found;
    };
    const cellsOf = (name: string): readonly string[] =>
      (markdown.split("\n").find((line) => line.startsWith(`| ${name} |`)) ?? "").split("|").map((cell) => cell.trim());
    const analysed = async (...parts: string[]): Promise<AnalysisDocument> =>
      JSON.parse((await cli(["analyze", "--json", path.join(...parts)], { cwd: directory })).stdout);

    it("the table has leaky, fixed and ratio for each backend, and their ratio", () => {
      const head = markdown.split("\n").find((line) => line.startsWith("| pattern |"));
      const backends = ["cpu leaky | fixed | ratio", "cuda leaky | fixed | ratio"];
      expect(head).toBe(`| pattern | ${backends.join(" | ")} | louder over quieter |`);
      expect(rounds.map(({ source, backend }) => [source, backend])).toEqual([
        [undefined, "cpu"],
        ["replay", "cuda"],
      ]);
    });

    it("shows the figures of the round and of the recordings, and their ratio with the greater above", async () => {
      const round = (json("cpu", "lab.json") as LabDocument).patterns[0];
      const peak = async (state: string): Promise<number> => {
        const { series } = await analysed("device", "python_cache", state);
        const found = series.find(({ device, metric }) => device === "cuda:0" && metric === "allocated");
        return found?.peak_bytes ?? Number.NaN;
      };
      const [leaky, fixed] = [await peak("leaky"), await peak("fixed")];
      // By construction: model and working memory, and what was kept.
      expect([leaky, fixed]).toEqual([(64 + 16 + 20) * MIB, (64 + 16) * MIB]);
      const ratio = round?.ratio ?? Number.NaN;
      const louder = ratio >= leaky / fixed ? "cpu over cuda" : "cuda over cpu";
      const factor = Math.max(ratio / (leaky / fixed), leaky / fixed / ratio);
      const sizes = [round?.leaky?.peak_bytes, round?.fixed?.peak_bytes, leaky, fixed].map((size) =>
        formatBytes(size ?? Number.NaN),
      );
      expect(cellsOf("python_cache").slice(1, 9)).toEqual([
        "python_cache",
        ...sizes.slice(0, 2),
        `${ratio.toFixed(2)}x`,
        ...sizes.slice(2),
        "1.25x",
        `${louder}: ${factor.toFixed(2)}x`,
      ]);
      expect(printed).toContain(`${louder}: ${factor.toFixed(2)}x`);
    });

    it("reports what the recordings show and judges nothing", () => {
      expect(patternOf(1, "python_cache")).toMatchObject({
        outcome: "replayed",
        leak_bytes_per_step: 512 * 1024,
        steps: 40,
        series: { device: "cuda:0", metric: "allocated" },
        leaky: { verdict: "not-judged", class: "leak", out_of_memory: null },
        fixed: { verdict: "not-judged", class: "flat" },
      });
      expect(markdown).toContain("not judged: leak against flat");
      expect(markdown).toContain("a replay, not judged");
    });

    it("reports where a state ran out of memory, and reports its ratio as a lower bound", () => {
      const { leaky, fixed, ratio } = patternOf(1, "validation_outputs");
      // 80 MiB and 16 more with each step, up to the last that fits into 400.
      expect(leaky?.out_of_memory).toEqual({ device: "cuda:0", at_bytes: 400 * MIB });
      expect(fixed?.peak_bytes).toBe(80 * MIB);
      expect(ratio).toBe(5);
      const cells = cellsOf("validation_outputs");
      expect(cells.slice(2, 8)).toEqual(["not run", "–", "–", "out of memory at 400.00 MiB", "80.00 MiB", "≥ 5.00x"]);
      expect(cells[8]).toBe("–");
    });

    it("finds in Stormlog's telemetry of a run the peaks that were sampled, where our recording knows them exactly", async () => {
      const { stdout } = await cli(["lab", "report", "--json", "device", "stormlog"], { cwd: directory });
      const [ours, theirs] = (JSON.parse(stdout).rounds as LabDocument[]).map(({ patterns }) =>
        patterns.find(({ name }) => name === "python_cache"),
      );
      // Working memory of 16 MiB is there for 12 ms of a step, and a sample finds it or not.
      const [exact, sampled] = [ours?.leaky?.peak_bytes ?? 0, theirs?.leaky?.peak_bytes ?? 0];
      expect(sampled).toBeLessThanOrEqual(exact);
      expect(sampled).toBeGreaterThanOrEqual(exact - 16 * MIB);
      expect(theirs).toMatchObject({ outcome: "replayed", leak_bytes_per_step: null });
      expect(theirs?.ratio).toBeCloseTo(sampled / (theirs?.fixed?.peak_bytes ?? 1), 10);
    });

    it("writes documents that the published schema takes", () => {
      const schema: unknown = JSON.parse(readFileSync(path.join(SCHEMA_FOLDER, "lab.schema.json"), "utf8"));
      const validate = new Ajv2020({ allErrors: true, strictTypes: false }).compile(schema as object);
      for (const document of [json("cpu", "lab.json"), ...rounds])
        expect(validate(document), JSON.stringify(validate.errors)).toBe(true);
      expect(validate({ ...rounds[1], source: "guess" })).toBe(false);
    });

    it.skipIf(chromium === null)("a browser shows the page without errors", async () => {
      const page = await BrowserPage.open(chromium ?? "", directory, path.join(directory, "page", "leak-lab.html"));
      try {
        await page.until("document.readyState === 'complete'");
        const rows = await page.evaluate("[...document.querySelectorAll('table')][0].innerText");
        expect(rows).toContain("out of memory at 400.00 MiB");
        // Bundles of the round have timelines, recordings have none.
        expect(await page.evaluate("[...document.images].map((one) => one.alt.split(':')[0])")).toEqual([
          "python_cache, leaky",
          "python_cache, fixed",
        ]);
        expect(page.complaints).toEqual([]);
      } finally {
        await page.close();
      }
    });
  },
);
