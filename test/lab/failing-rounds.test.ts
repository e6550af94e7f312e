import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { consolePorts } from "../../src/cli/console/ports.ts";
import { CATALOGUE } from "../../src/lab/catalogue.ts";
import { type LabDocument, type LabOutcome, type LabPattern, parseLabDocument } from "../../src/lab/report/document.ts";
import { environmentAfter, LAB_FILE, type LabNarrator, runLab, surprises } from "../../src/lab/round.ts";
import type { Fingerprint } from "../../src/telemetry/recording/model.ts";
import { directory, quietConsole, run, runWatched } from "./testing/lab-command.ts";

const SILENT: LabNarrator = { begins: () => {}, baseline: () => {}, judging: () => {}, ended: () => {} };

/** A program that passes for a Python with torch, under which every pattern ends as on a machine without the device. */
function deviceless(): string {
  const program = path.join(directory(), "python");
  const script =
    '#!/bin/sh\nif [ "$1" = -c ]; then echo torch; exit 0; fi\necho "loading"\necho "no such device" >&2\nexit 1\n';
  writeFileSync(program, script);
  chmodSync(program, 0o755);
  return program;
}

function round(
  names: readonly string[],
  output: string,
  narrator: LabNarrator,
  more: { readonly signal?: AbortSignal; readonly env?: Record<string, string>; readonly baseline?: string } = {},
): Promise<LabDocument> {
  return runLab(
    {
      patterns: CATALOGUE.filter(({ name }) => names.includes(name)).sort(
        (a, b) => names.indexOf(a.name) - names.indexOf(b.name),
      ),
      directory: output,
      root: output,
      device: "cpu",
      scale: "tiny",
      steps: 5,
      python: deviceless(),
      runs: 5,
      baseline: more.baseline ?? null,
      argv: ["lab", "run"],
      env: { PATH: process.env.PATH, ...more.env },
    },
    narrator,
    consolePorts(
      quietConsole(() => {}),
      more.signal ?? new AbortController().signal,
      true,
    ),
  );
}

/** The sessions that the two states of a pattern were judged in. */
function sessionsIn(output: string, pattern: string): readonly string[] {
  const of = (state: string): string =>
    JSON.parse(readFileSync(path.join(output, pattern, state, "report.json"), "utf8")).payload.session;
  return [...new Set([of("leaky"), of("fixed")])];
}

const onDisk = (output: string): LabDocument =>
  parseLabDocument(JSON.parse(readFileSync(path.join(output, LAB_FILE), "utf8")), output);

describe("a round in which a pattern cannot be judged", () => {
  it("keeps the environment that other patterns reported, one session, and the last output of the program", async () => {
    const output = directory();
    const document = await round(["node_cache", "forward_hook"], output, SILENT, {
      env: { STORMLOG_GATE_SESSION: "" },
    });
    expect(document.patterns.map(({ outcome }) => outcome)).toEqual([expect.any(String), "broken"]);
    expect(document.patterns[1]?.reason).toMatch(/exited with status 1; nothing was stored: no such device$/);
    expect(document.backend).toBe("cpu");
    expect(document.device_model).not.toBeNull();
    expect(sessionsIn(output, "node_cache")).toHaveLength(1);
  }, 120_000);

  it("reads the last output from the bundle where a stored baseline is given", async () => {
    const output = directory();
    mkdirSync(path.join(output, "store"));
    const { patterns } = await round(["forward_hook"], output, SILENT, { baseline: "file:store" });
    expect(patterns).toMatchObject([{ outcome: "broken", fixed: { verdict: "error" }, leaky: { verdict: "error" } }]);
    expect(patterns[0]?.reason).toMatch(/exited with status 1: no such device$/);
  }, 60_000);

  it("keeps the environment that PyTorch reported when a later program ended early", () => {
    const row = (framework: string, outcome: LabOutcome, fingerprint: Fingerprint | null) => ({
      pattern: { framework, outcome } as LabPattern,
      fingerprint,
    });
    const reported = { backend: "cuda", framework: "torch" };
    const plain = { backend: "cpu" };
    expect(environmentAfter({}, row("node", "caught", plain))).toEqual(plain);
    expect(environmentAfter(plain, row("torch", "caught", reported))).toEqual(reported);
    expect(environmentAfter(reported, row("torch", "broken", plain))).toEqual(reported);
    expect(environmentAfter(reported, row("torch", "broken", null))).toEqual(reported);
    expect(environmentAfter(reported, row("node", "caught", plain))).toEqual(reported);
  });

  it("suggests a remedy for the reason, not for a leak that is too small", async () => {
    const output = path.join(directory(), "two words");
    const ended = run("run", "forward_hook", "--python", deviceless(), "--output", output);
    await expect(ended).rejects.toMatchObject({
      code: "LAB_SURPRISE",
      message: expect.stringMatching(/forward_hook: could not be judged: .*no such device/),
      hint: expect.stringContaining("reason"),
    });
    await expect(ended).rejects.toMatchObject({ hint: expect.not.stringContaining("too small") });
  }, 60_000);

  it("counts with the terms of its table, and quotes the directory for a shell", async () => {
    const output = path.join(directory(), "two words");
    const printed: string[] = [];
    await expect(
      runWatched((text) => printed.push(text), "run", "forward_hook", "--python", deviceless(), "--output", output),
    ).rejects.toMatchObject({ code: "LAB_SURPRISE" });
    const text = printed.join("\n");
    expect(text).toContain("\n1 could not be judged. Evidence: ");
    expect(text).toContain(`\`stormlog-gate lab report '${output}' `);
  }, 60_000);
});

describe("a round that is interrupted", () => {
  it("ends with the document of what was done, also where the baseline was being measured", async () => {
    const output = directory();
    const controller = new AbortController();
    const narrator = { ...SILENT, baseline: () => controller.abort("SIGINT") };
    const document = await round(["node_cache"], output, narrator, { signal: controller.signal });
    expect(document.patterns).toEqual([]);
    expect(onDisk(output)).toMatchObject({ patterns: [] });
  });

  it("ends with status 130, and leaves no document of an earlier round beside its evidence", async () => {
    const output = directory();
    writeFileSync(path.join(output, LAB_FILE), "{}");
    let baselineBegan = false;
    const print = (text: string): void => {
      if (baselineBegan || !text.includes("become the baseline")) return;
      baselineBegan = true;
      expect(onDisk(output)).toMatchObject({ patterns: [] });
      // Handlers in a thread of a test runner receive no signals.
      process.emit("SIGHUP");
    };
    const { code, text, document } = await runWatched(print, "run", "node_cache", "--output", output);
    expect(code).toBe(130);
    expect(text).toContain("\nNo pattern was finished. Evidence: ");
    expect(document).toMatchObject({ patterns: [] });
    expect(existsSync(path.join(output, "node_cache"))).toBe(false);
  }, 60_000);
});

describe("what is a surprise", () => {
  const document = (outcomes: Readonly<Record<string, LabOutcome>>): LabDocument => ({
    schema: "stormlog.lab/1",
    generated_at_utc: null,
    scale: "tiny",
    backend: null,
    device_model: null,
    framework_version: null,
    patterns: Object.entries(outcomes).map(([name, outcome]) => ({ name, outcome }) as LabPattern),
  });
  const of = (outcomes: Readonly<Record<string, LabOutcome>>, ...named: string[]): readonly string[] =>
    surprises(document(outcomes), CATALOGUE, named).map(({ name }) => name);

  it("a skipped pattern is a surprise when it was requested or no pattern was measured", () => {
    expect(of({ node_cache: "caught", jax_pullbacks: "skipped" })).toEqual([]);
    expect(of({ node_cache: "caught", jax_pullbacks: "skipped" }, "node_cache", "jax_pullbacks")).toEqual([
      "jax_pullbacks",
    ]);
    expect(of({ forward_hook: "skipped", jax_pullbacks: "skipped" })).toEqual(["forward_hook", "jax_pullbacks"]);
    expect(of({ forward_hook: "broken", jax_pullbacks: "skipped" })).toEqual(["forward_hook", "jax_pullbacks"]);
  });
});
