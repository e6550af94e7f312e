import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { consolePorts } from "../../src/cli/console/ports.ts";
import { shippedLab } from "../../src/lab/catalogue.ts";
import type { ScaleDocument } from "../../src/lab/report/scale-document.ts";
import { answerText } from "../../src/lab/report/scale-text.ts";
import { searchScale } from "../../src/lab/scale.ts";
import { directory, quietConsole } from "./testing/lab-command.ts";

/** A program that passes for a pattern: as its fixed state it holds 8 MiB for some milliseconds. */
function pattern(leaky: string, lastingMs: number): string {
  const file = path.join(directory(), "pattern.mjs");
  writeFileSync(
    file,
    `const state = process.argv[2];
const steps = Number(process.argv[process.argv.indexOf("--steps") + 1]);
const hold = (mebibytes, milliseconds) => {
  const held = Buffer.alloc(mebibytes * 2 ** 20, 1);
  setTimeout(() => {
    console.log("leak-lab: " + JSON.stringify({ steps, framework: "node", leak_bytes_per_step: 2 ** 18, accuracy: held[0] }));
  }, milliseconds);
};
if (state === "fixed") hold(8, ${lastingMs});
${leaky}
`,
  );
  return file;
}

/** Search among three sizes. */
function search(leaky: string, output: string, { runs = 5, lastingMs = 0 } = {}): Promise<ScaleDocument> {
  return searchScale(
    {
      entry: {
        name: "a_pattern",
        title: "A pattern",
        framework: "node",
        file: path.relative(shippedLab(), pattern(leaky, lastingMs)),
        ranks: 1,
        expected: "caught",
      },
      setting: { scale: "tiny", batch: null },
      directory: output,
      bounds: { from: 18, to: 20, factor: 1.25 },
      runs,
      device: "cpu",
      python: "/no/such/python",
      argv: ["lab", "scale"],
      env: { PATH: process.env.PATH },
    },
    { baseline: () => {}, probed: () => {} },
    consolePorts(
      quietConsole(() => {}),
      new AbortController().signal,
      true,
    ),
  );
}

describe("a search among sizes that the gate cannot judge", { timeout: 180_000 }, () => {
  it("reports none of them as not visible, and reports that no boundary was found", async () => {
    const tooFewToCompareWith = 3;
    const document = await search("else hold(8, 0);", directory(), { runs: tooFewToCompareWith });
    const { answer, probes } = document;
    expect(probes.length).toBeGreaterThan(0);
    for (const probe of probes) expect(probe).toMatchObject({ leaky: "unjudged", visible: false });
    expect(answer).toMatchObject({ kind: "broken", at: null, below: null });
    expect(answerText(document)).toMatch(/the gate could not judge it at .*20 steps \(.+\)\.$/);
    expect(answerText(document)).not.toContain("silent");
  });

  it("names the directory of the evidence where a run failed", async () => {
    const output = directory();
    const document = await search("else process.exit(3);", output);
    const { answer } = document;
    if (answer.kind !== "broken") throw new Error(answer.kind);
    expect(answer.bundle).toMatch(/^probes\/\d+$/);
    expect(existsSync(path.join(output, answer.bundle ?? "", "leaky", "report.json"))).toBe(true);
    expect(answerText(document)).toContain(`its bundles are in ${answer.bundle}`);
  });
});

describe("a search among sizes at which nothing shows", { timeout: 180_000 }, () => {
  it("reports that the leak is silent up to the bound", async () => {
    // Long after its start, so that every run has a growth: none of it.
    const lastingMs = 1500;
    const document = await search(`else hold(8, ${lastingMs});`, directory(), { lastingMs });
    expect(document.answer).toMatchObject({ kind: "never", to: 20 });
    expect(answerText(document)).toContain("silent up to 20 steps");
  });
});
