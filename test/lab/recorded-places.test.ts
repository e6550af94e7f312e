import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { consolePorts } from "../../src/cli/console/ports.ts";
import { gateRequest } from "../../src/config/options.ts";
import { runGate } from "../../src/gate/run-gate.ts";
import type { LabDocument, LabPattern } from "../../src/lab/report/document.ts";
import { directory, quietConsole, run } from "./testing/lab-command.ts";

const MIB = 1024 ** 2;

/** A recording of 100 steps, as a generic table. */
function csv(rise: number): string {
  const rows = Array.from({ length: 100 }, (_, step) => `${step},xpu:0,${512 * MIB + rise * step}`);
  return ["step,device,allocated_bytes", ...rows].join("\n");
}

/** Files of a pattern's directory below a new directory. */
function placeWith(files: Readonly<Record<string, string>>): string {
  const place = directory();
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(place, file)), { recursive: true });
    writeFileSync(path.join(place, file), text);
  }
  return place;
}

async function patternsOf(place: string): Promise<readonly LabPattern[]> {
  const { document } = await run("report", place);
  return (document as { rounds: LabDocument[] }).rounds[0]?.patterns ?? [];
}

const REPLAYED = { outcome: "replayed", leaky: { class: "leak" }, fixed: { class: "flat" } };

describe("directories with recordings of a pattern", () => {
  it("follows links to directories and files", async () => {
    const real = placeWith({ "cache/leaky.csv": csv(MIB), "cache/fixed.csv": csv(0), "parts/data.csv": csv(MIB) });
    const place = directory();
    symlinkSync(path.join(real, "cache"), path.join(place, "linked"));
    mkdirSync(path.join(place, "files", "leaky"), { recursive: true });
    symlinkSync(path.join(real, "parts", "data.csv"), path.join(place, "files", "leaky", "data.csv"));
    symlinkSync(path.join(real, "cache", "fixed.csv"), path.join(place, "files", "fixed.csv"));
    expect(await patternsOf(place)).toMatchObject([
      { name: "files", ...REPLAYED },
      { name: "linked", ...REPLAYED },
    ]);
  });

  it("reports a broken link, not a missing recording", async () => {
    const place = placeWith({ "cache/leaky.csv": csv(MIB) });
    symlinkSync(path.join(place, "gone.csv"), path.join(place, "cache", "fixed.csv"));
    const [pattern] = await patternsOf(place);
    expect(pattern).toMatchObject({ outcome: "broken", fixed: null });
    expect(pattern?.reason).toMatch(/the fixed state cannot be read/);
  });

  it("prefers telemetry to a picture", async () => {
    const place = placeWith({
      "cache/leaky.art.png": "a picture",
      "cache/leaky.csv": csv(MIB),
      "cache/fixed.csv": csv(0),
    });
    expect(await patternsOf(place)).toMatchObject([REPLAYED]);
  });

  it("finds what a program printed in a bundle of a scenario with any name", async () => {
    const place = directory();
    const line = JSON.stringify({ steps: 3, framework: "node 1", leak_bytes_per_step: 10, accuracy: 0.75 });
    const program = `setTimeout(() => console.log('leak-lab: ${line}'), 300)`;
    const request = gateRequest({
      options: {
        scenario: "My Net / große Läufe",
        bundle: path.join(place, "bundle"),
        "base-run": "off",
        attribute: "off",
        repeats: "1",
      },
      command: { kind: "argv", argv: [process.execPath, "-e", program] },
      config: null,
      root: place,
      defaultBaselines: [],
      defaultUnjudged: "pass",
      argv: ["run"],
      env: { PATH: process.env.PATH },
    });
    const ports = consolePorts(
      quietConsole(() => {}),
      new AbortController().signal,
      true,
    );
    await runGate(request, ports);
    mkdirSync(path.join(place, "net"));
    renameSync(path.join(place, "bundle"), path.join(place, "net", "leaky"));
    expect(await patternsOf(place)).toMatchObject([{ leaky: { accuracy: 0.75 } }]);
  });
});

describe("a report on a terminal", () => {
  it("keeps every name on its own row, whatever it holds", async () => {
    const hostile = "x\nforward_hook  1.00 KiB  caught";
    const place = placeWith({
      [`${hostile}/leaky.csv`]: csv(MIB),
      [`${hostile}/fixed.csv`]: csv(0),
    });
    for (const places of [[place], [place, place]]) {
      const { text } = await run("report", ...places);
      expect(text).not.toMatch(/^forward_hook/m);
      expect(text).toMatch(/^x forward_hook/m);
    }
  });

  it("keeps the name of a device in the title's line", async () => {
    const place = directory();
    const document: LabDocument = {
      schema: "stormlog.lab/1",
      generated_at_utc: null,
      scale: "tiny",
      backend: "cpu",
      device_model: "model\nforged row",
      framework_version: null,
      patterns: [],
    };
    writeFileSync(path.join(place, "lab.json"), JSON.stringify(document));
    for (const places of [[place], [place, place]])
      expect((await run("report", ...places)).text).not.toMatch(/^forged row/m);
  });
});
