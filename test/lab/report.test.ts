import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { type LabDocument, type LabPattern, type LabState, parseLabDocument } from "../../src/lab/report/document.ts";
import { telemetryEvents } from "../../src/telemetry/formats/stormlog/sample-events.ts";
import { eventsJson } from "../../src/telemetry/formats/stormlog/serialize.ts";
import type { RecordingMark } from "../../src/telemetry/recording/model.ts";
import { recording, series, table } from "../../src/telemetry/testing/recordings.ts";
import { directory, run } from "./testing/lab-command.ts";

const SNAPSHOTS = path.join(packageRoot(), "test", "snapshot", "fixtures");
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

function state(verdict: LabState["verdict"], peak: number, slope: number): LabState {
  return {
    verdict,
    confirmed: verdict === "fail",
    bundle: "forward_hook/leaky",
    runs: 3,
    peak_bytes: peak,
    growth_bytes: slope * 100,
    slope_bytes_per_step: slope,
    slope_bytes_per_s: slope * 10,
    class: verdict === "fail" ? "leak" : "flat",
    mde_bytes: 1024 ** 2,
    accuracy: 0.5,
    error: null,
  };
}

/** A pattern as a round of the first version left it. */
function pattern(name: string, leaky: number, fixed: number): LabPattern {
  return {
    name,
    title: "Activations <kept> | by a hook",
    framework: "torch",
    outcome: "caught",
    reason: null,
    series: { device: "host", metric: "allocated" },
    leak_bytes_per_step: 1000,
    steps: 100,
    leaky: state("fail", leaky, 800),
    fixed: state("pass", fixed, 0),
    ratio: leaky / fixed,
    line: "patterns/forward_hook.py:21",
    line_in_leak: true,
  };
}

function round(backend: string, ...patterns: LabPattern[]): LabDocument {
  return {
    schema: "stormlog.lab/1",
    generated_at_utc: "2026-01-01T00:00:00.000Z",
    scale: "tiny",
    backend,
    device_model: "<b>model</b>",
    framework_version: "torch 2.9",
    patterns,
  };
}

function written(document: unknown): string {
  const place = directory();
  writeFileSync(path.join(place, "lab.json"), JSON.stringify(document));
  return place;
}

/** Telemetry of Stormlog as its writers leave it: memory from `level` up by `rise` with each of `count` samples. */
function stormlogEvents(device: string, level: number, rise: number, marks: readonly RecordingMark[] = []): string {
  const { timeNs, values } = series(300, 5e7, (i) => level + rise * i + (i % 7) * MIB);
  const columns = { allocated: values, reserved: values.map((bytes) => bytes * 1.25) };
  return eventsJson(telemetryEvents(recording({ tables: [table({ device, timeNs, columns })], marks })));
}

function statesIn(place: string, name: string, file: string, texts: { leaky: string; fixed: string }): void {
  for (const which of ["leaky", "fixed"] as const) {
    mkdirSync(path.join(place, name, which), { recursive: true });
    writeFileSync(path.join(place, name, which, file), texts[which]);
  }
}

/** Recordings of two leaks on MPS, one of them known to the catalogue. */
function recordedOnMps(): string {
  const place = directory();
  statesIn(place, "forward_hook", "events.json", {
    leaky: stormlogEvents("mps:0", 700 * MIB, 30 * MIB),
    fixed: stormlogEvents("mps:0", 700 * MIB, 0),
  });
  statesIn(place, "my_own_leak", "events.json", {
    leaky: stormlogEvents("mps:0", 300 * MIB, 4 * MIB),
    fixed: stormlogEvents("mps:0", 300 * MIB, 0),
  });
  return place;
}

const reported = (document: unknown): readonly LabDocument[] => (document as { rounds: LabDocument[] }).rounds;

describe("lab report", () => {
  it("sets two backends side by side, and names the one with more growth", async () => {
    const mps = round("mps", pattern("forward_hook", 16_290 * MIB, 1000 * MIB));
    const cuda = round("cuda", pattern("forward_hook", 5860 * MIB, 2000 * MIB));
    for (const places of [
      [mps, cuda],
      [cuda, mps],
    ]) {
      const { code, text } = await run("report", ...places.map(written));
      expect(code).toBe(0);
      for (const ratio of ["16.29x", "2.93x"]) expect(text).toContain(ratio);
      // The greater is on top, whatever its name.
      expect(text).toContain("mps over cuda: 5.56x");
    }
  });

  it("names the two of three backends that are furthest apart", async () => {
    const places = [
      round("mps", pattern("forward_hook", 400, 100), pattern("tensor_retention", 200, 100)),
      round("cuda", pattern("forward_hook", 200, 100), pattern("tensor_retention", 300, 100)),
      round("cpu", pattern("forward_hook", 102, 100), pattern("tensor_retention", 201, 100)),
    ];
    const { text } = await run("report", ...places.map(written));
    expect(text).toContain("mps over cpu: 3.92x");
    expect(text).toContain("cuda over mps: 1.50x");
  });

  it("numbers two rounds of one backend", async () => {
    const places = [round("cpu", pattern("a", 300, 100)), round("cpu", pattern("a", 150, 100))];
    expect((await run("report", ...places.map(written))).text).toContain("cpu 1 over cpu 2: 2.00x");
  });

  it("prints the catalogue of one directory without markdown", async () => {
    const { text } = await run("report", written(round("cpu", pattern("a", 300, 100))));
    expect(text).not.toMatch(/^[|#]/m);
    expect(text).toMatch(/^a +1000 B +300 B +100 B +3.00x/m);
  });

  it("escapes untrusted text in markdown and page", async () => {
    const output = path.join(directory(), "new");
    const hostile = pattern('<script>alert(1)</script>"&', 300, 100);
    const { document } = await run(
      "report",
      written(round("a|b", hostile)),
      written(round("<i>", hostile)),
      "--output",
      output,
    );
    expect((document as { files: string[] }).files).toHaveLength(2);
    const page = readFileSync(path.join(output, "leak-lab.html"), "utf8");
    expect(page).not.toMatch(/<b>|<i>|<script/);
    const markdown = readFileSync(path.join(output, "leak-lab.md"), "utf8");
    expect(markdown).not.toMatch(/<b>|<i>|<script/);
    const widths = markdown
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .map((line) => line.split("|").length);
    expect(new Set(widths).size).toBe(2);
  });

  it("shows the timelines of the bundles, and no file from outside their directory", async () => {
    const place = written(round("cpu", pattern("forward_hook", 200, 100)));
    mkdirSync(path.join(place, "forward_hook", "leaky"), { recursive: true });
    writeFileSync(path.join(place, "forward_hook", "leaky", "timeline.png"), "picture");
    const output = path.join(place, "out");
    await run("report", place, "--output", output);
    const shown = `data:image/png;base64,${Buffer.from("picture").toString("base64")}`;
    expect(readFileSync(path.join(output, "leak-lab.html"), "utf8")).toContain(shown);
    const [known] = round("cpu", pattern("forward_hook", 200, 100)).patterns;
    const other = path.join(place, "other");
    mkdirSync(path.join(place, "x"));
    mkdirSync(other);
    writeFileSync(path.join(place, "x", "timeline.png"), "picture");
    const outside = { ...known, leaky: { ...known?.leaky, bundle: "../x" } };
    writeFileSync(path.join(other, "lab.json"), JSON.stringify({ ...round("cpu"), patterns: [outside] }));
    await run("report", other, "--output", output);
    expect(readFileSync(path.join(output, "leak-lab.html"), "utf8")).not.toContain("data:image");
  });

  it("reports a directory without a round and without recordings", async () => {
    await expect(run("report", directory())).rejects.toMatchObject({ code: "LAB_UNREADABLE", kind: "invalid-input" });
    await expect(run("report", path.join(directory(), "gone"))).rejects.toMatchObject({ code: "LAB_UNREADABLE" });
    await expect(run("report", written({ schema: "stormlog.lab/2" }))).rejects.toMatchObject({ code: "LAB_INVALID" });
    await expect(run("report")).rejects.toMatchObject({ code: "ARGUMENT_MISSING", kind: "usage" });
  });
});

describe("lab report of recordings", () => {
  it("reads Stormlog's telemetry of both states as a replay, with the analysis's figures and no verdict", async () => {
    const { text, document } = await run("report", recordedOnMps());
    const [replay] = reported(document);
    expect(replay).toMatchObject({ source: "replay", backend: "mps", scale: null });
    expect(parseLabDocument(replay, "")).toEqual(replay);
    const top = (700 + 30 * 299 + (299 % 7)) * MIB;
    const known = replay?.patterns.find(({ name }) => name === "forward_hook");
    expect(known).toMatchObject({
      title: "Activations kept by a forward hook",
      outcome: "replayed",
      series: { device: "mps:0", metric: "allocated", rank: 0 },
      leaky: { verdict: "not-judged", peak_bytes: top, reserved_peak_bytes: top * 1.25, class: "leak" },
      fixed: { verdict: "not-judged", peak_bytes: 706 * MIB, class: "flat" },
      ratio: top / (706 * MIB),
    });
    expect(text).toMatch(/forward_hook .*13\.\d\dx .* not judged +– +– +not judged: leak against flat/);
    expect(replay?.patterns.map(({ name, title }) => [name, title])).toContainEqual(["my_own_leak", "my_own_leak"]);
  });

  it("reads a recording that ended out of memory as a leak that would have continued", async () => {
    const place = directory();
    const ranOut: RecordingMark = { timeNs: 299 * 5e7, kind: "oom", text: "MPS backend out of memory" };
    statesIn(place, "validation_outputs", "events.json", {
      leaky: stormlogEvents("mps:0", 700 * MIB, 60 * MIB, [ranOut]),
      fixed: stormlogEvents("mps:0", 700 * MIB, 0),
    });
    const beside = written(round("cpu", pattern("validation_outputs", 300, 100)));
    const { text } = await run("report", place, beside);
    expect(text).toMatch(/out of memory at 18\.2\d GiB +706\.00 MiB +≥ 26\.\d\dx +300 B +100 B +3\.00x +–/);
  });

  it("reads files instead of directories, and tables of other programs", async () => {
    const place = directory();
    const csv = (rise: number): string =>
      ["step,device,allocated_bytes", ...Array.from({ length: 200 }, (_, i) => `${i},xpu:0,${GIB + rise * i}`)].join(
        "\n",
      );
    mkdirSync(path.join(place, "cache"));
    writeFileSync(path.join(place, "cache", "leaky.csv"), csv(MIB));
    writeFileSync(path.join(place, "cache", "fixed.csv"), csv(0));
    const [replay] = reported((await run("report", place)).document);
    expect(replay).toMatchObject({
      backend: "xpu",
      patterns: [{ outcome: "replayed", steps: 200, leaky: { class: "leak", slope_bytes_per_step: MIB } }],
    });
  });

  it("reads a directory that holds only snapshots of PyTorch's allocator", async () => {
    const place = directory();
    for (const [which, file] of [
      ["leaky", "after.pickle"],
      ["fixed", "before.pickle"],
    ] as const) {
      mkdirSync(path.join(place, "kept", which), { recursive: true });
      cpSync(path.join(SNAPSHOTS, file), path.join(place, "kept", which, file));
      writeFileSync(path.join(place, "kept", which, "notes.txt"), "not telemetry");
    }
    const [replay] = reported((await run("report", place)).document);
    const [kept] = replay?.patterns ?? [];
    expect(replay?.backend).toBe("cuda");
    expect(kept).toMatchObject({ outcome: "replayed", series: { device: "cuda:0", metric: "allocated" } });
    expect(kept?.leaky?.peak_bytes).toBeGreaterThan(kept?.fixed?.peak_bytes ?? Number.POSITIVE_INFINITY);
  });

  it("keeps the others where one recording is missing or damaged, and names it", async () => {
    const place = recordedOnMps();
    writeFileSync(path.join(place, "forward_hook", "fixed", "events.json"), "[{");
    mkdirSync(path.join(place, "half", "leaky"), { recursive: true });
    cpSync(path.join(place, "my_own_leak", "leaky"), path.join(place, "half", "leaky"), { recursive: true });
    const { document } = await run("report", place);
    const rows = Object.fromEntries(reported(document)[0]?.patterns.map((one) => [one.name, one]) ?? []);
    expect(rows.forward_hook).toMatchObject({ outcome: "broken", fixed: null, ratio: null });
    expect(rows.forward_hook?.reason).toMatch(/the fixed state cannot be read/);
    expect(rows.half).toMatchObject({ outcome: "broken", reason: "the fixed state has no recording" });
    expect(rows.my_own_leak).toMatchObject({ outcome: "replayed" });
  });

  it("fails where not one recording can be read", async () => {
    const place = directory();
    statesIn(place, "forward_hook", "events.json", { leaky: "[{", fixed: "[{" });
    await expect(run("report", place)).rejects.toMatchObject({ kind: "invalid-input" });
  });

  it("does not take a series of another kind for the counterpart", async () => {
    const place = directory();
    const csv = (device: string): string =>
      ["step,device,allocated_bytes", ...Array.from({ length: 50 }, (_, i) => `${i},${device},${GIB}`)].join("\n");
    mkdirSync(path.join(place, "cache"));
    writeFileSync(path.join(place, "cache", "leaky.csv"), csv("cuda:0"));
    writeFileSync(path.join(place, "cache", "fixed.csv"), csv("host"));
    const [replay] = reported((await run("report", place)).document);
    expect(replay?.patterns[0]).toMatchObject({ ratio: null, leaky: { peak_bytes: GIB }, fixed: { peak_bytes: null } });
  });
});
