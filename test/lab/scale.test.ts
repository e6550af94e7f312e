import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import type { ScaleDocument } from "../../src/lab/report/scale-document.ts";
import { type CliResult, cli, freshDirectory } from "../e2e/cli.ts";

/** The bundles that a search kept, as "size/state". */
function kept(directory: string): readonly string[] {
  const probes = path.join(directory, "probes");
  return readdirSync(probes).flatMap((size) => readdirSync(path.join(probes, size)).map((state) => `${size}/${state}`));
}

describe("a search of the size at which a leak shows", { timeout: 240_000 }, () => {
  const cwd = freshDirectory();
  const directory = path.join(cwd, "found");
  let found: CliResult;
  let document: ScaleDocument;

  beforeAll(async () => {
    found = await cli(["lab", "scale", "node_cache", "--from", "6", "--to", "200", "--output", "found", "--json"], {
      cwd,
      // A name that a workflow left empty is none: the search gives its runs one session all the same.
      env: { STORMLOG_GATE_SESSION: "" },
    });
    document = JSON.parse(found.stdout);
  }, 200_000);

  it("ends with a silent and a visible size side by side, each judged by the gate", () => {
    expect(found.code, found.stderr).toBe(0);
    const { answer, probes } = document;
    if (answer.kind !== "visible") throw new Error(JSON.stringify(answer));
    expect(answer.at).toBeLessThanOrEqual(Math.max(answer.below + 1, answer.below * document.factor));
    const [at, below] = [answer.at, answer.below].map((size) => probes.find(({ value }) => value === size));
    expect(at).toMatchObject({ leaky: "fail", fixed: "pass", visible: true });
    expect(below).toMatchObject({ visible: false });
    expect(below?.leaky).not.toBe("fail");
    // 128 KiB with every step against a floor of 2 MiB at least: not before 16 steps, and by 8 MiB in any case.
    expect(answer.at).toBeGreaterThanOrEqual(16);
    expect(answer.at).toBeLessThan(120);
  });

  it("keeps the evidence of these two sizes, and of no other", () => {
    const { answer, probes } = document;
    if (answer.kind !== "visible") throw new Error(answer.kind);
    const expected = [`${answer.at}/fixed`, `${answer.at}/leaky`, `${answer.below}/leaky`];
    expect(kept(directory)).toEqual(expect.arrayContaining(expected));
    const sizes = new Set(kept(directory).map((one) => one.split("/")[0]));
    expect([...sizes].map(Number).sort((a, b) => a - b)).toEqual([answer.below, answer.at]);
    for (const { bundle } of probes) {
      if (bundle !== null) expect(existsSync(path.join(directory, bundle, "leaky", "report.json")), bundle).toBe(true);
    }
    expect(probes.filter(({ bundle }) => bundle !== null)).toHaveLength(2);
  });

  it("all runs of a search belong to one session", () => {
    const sessions = kept(directory).map((one) => {
      const report = readFileSync(path.join(directory, "probes", one, "report.json"), "utf8");
      return JSON.parse(report).payload.session;
    });
    expect(sessions.length).toBeGreaterThanOrEqual(3);
    expect(new Set(sessions).size).toBe(1);
  });

  it("leaves the document that it printed, fitting the published schema", () => {
    expect(JSON.parse(readFileSync(path.join(directory, "lab-scale.json"), "utf8"))).toEqual(document);
    const schema = JSON.parse(readFileSync(path.join(packageRoot(), "schema", "lab-scale.schema.json"), "utf8"));
    const validate = new Ajv2020({ strictTypes: false }).compile(schema);
    expect(validate(document), JSON.stringify(validate.errors)).toBe(true);
  });

  it("prints a line for each size, and the answer in one sentence", () => {
    const { probes, answer } = document;
    for (const [index, { value }] of probes.entries()) expect(found.stderr).toContain(`${index + 1}. ${value} steps: `);
    if (answer.kind === "visible") expect(found.stderr).toContain(`becomes visible at ${answer.at} steps`);
  });
});

describe("a search that is cut or refused", { timeout: 120_000 }, () => {
  const cwd = freshDirectory();

  it("writes its document when it is interrupted", async () => {
    const { code, stdout, stderr } = await cli(["lab", "scale", "node_cache", "--output", "cut", "--json"], {
      cwd,
      onStderr: (text, pid) => {
        if (!/become a baseline/.test(text)) return;
        process.kill(pid, "SIGINT");
      },
    });
    expect(code, stderr).toBe(130);
    expect((JSON.parse(stdout) as ScaleDocument).answer).toMatchObject({ kind: "broken", reason: "interrupted" });
    expect(existsSync(path.join(cwd, "cut", "lab-scale.json"))).toBe(true);
  });

  it("a search whose pattern cannot run fails with the reason and leaves an earlier search untouched", async () => {
    const earlier = path.join(cwd, "earlier");
    mkdirSync(path.join(earlier, "probes", "17"), { recursive: true });
    writeFileSync(path.join(earlier, ".lab-scale"), "");
    for (const output of ["earlier", "none"]) {
      const args = ["lab", "scale", "forward_hook", "--python", "/no/such/python", "--output", output];
      const { code, stderr } = await cli(args, { cwd });
      expect(code).toBe(1);
      expect(stderr).toMatch(/error LAB_SCALE_BROKEN: .*"\/no\/such\/python" cannot be run/);
    }
    expect(existsSync(path.join(earlier, "probes", "17"))).toBe(true);
    expect(existsSync(path.join(cwd, "none"))).toBe(false);
  });

  it("refuses a directory with baselines that it did not make", async () => {
    mkdirSync(path.join(cwd, "own", "baselines"), { recursive: true });
    const { code, stderr } = await cli(["lab", "scale", "node_cache", "--output", "."], { cwd: path.join(cwd, "own") });
    expect([code, stderr.match(/error \w+/)?.[0]]).toEqual([2, "error LAB_FOLDER_TAKEN"]);
    expect(readdirSync(path.join(cwd, "own"))).toEqual(["baselines"]);
  });

  it.each([
    [["lab", "scale"], "ARGUMENT_MISSING"],
    [["lab", "scale", "node_cache", "node_listeners"], "ARGUMENT_MISSING"],
    [["lab", "scale", "node_cash"], "PATTERN_UNKNOWN"],
    [["lab", "scale", "node_cache", "--batch", "3"], "OPTION_INVALID"],
    [["lab", "scale", "node_cache", "--from", "9", "--to", "8"], "OPTION_INVALID"],
    [["lab", "scale", "node_cache", "--runs", "3"], "OPTION_INVALID"],
    [["lab", "scale", "node_cache", "--steps", "3"], "OPTION_INVALID"],
    [["lab", "scale", "node_cache", "--baseline", "file:x"], "OPTION_INVALID"],
    [["lab", "run", "forward_hook", "--batch", "3"], "OPTION_INVALID"],
  ])("refuses %j", async (args, wanted) => {
    const { code, stderr } = await cli(args, { cwd });
    expect([code, stderr.split(":")[0]]).toEqual([2, `error ${wanted}`]);
  });
});
