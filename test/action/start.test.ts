import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildInto, type StartSize } from "../../scripts/build.mjs";
import { directoryHashes } from "./testing/unzip.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A file and everything it imports statically, as text. */
function startText(dist: string, file: string, seen = new Set<string>()): string {
  if (seen.has(file)) return "";
  seen.add(file);
  const text = readFileSync(path.join(dist, file), "utf8");
  const imported = [...text.matchAll(/(?:from|import)"(\.[^"]+)"/g)].map(([, name = ""]) => name);
  return text + imported.map((name) => startText(dist, path.join(path.dirname(file), name), seen)).join("\n");
}

describe("what a step starts with", () => {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-start-"));
  const dist = path.join(directory, "dist");
  let sizes: Record<string, StartSize>;

  beforeAll(async () => {
    sizes = await buildInto(dist);
  });

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it("a step starts with less than 150 kB of own code and 40 kB of packages", () => {
    const steps = Object.entries(sizes).filter(([name]) => name.startsWith("action/"));
    expect(steps.length).toBeGreaterThanOrEqual(2);
    for (const [name, { own, packages }] of steps) {
      expect(own, name).toBeLessThan(150_000);
      expect(packages, name).toBeLessThan(40_000);
    }
  });

  it("a step starts without an HTTP client, an engine or a renderer", () => {
    for (const file of readdirSync(path.join(dist, "action"))) {
      const text = startText(dist, `action/${file}`);
      expect(text.length, file).toBeLessThan(200_000);
      // Strings that survive minifying: undici's errors, the artifact service, the Parquet writer, the picture's
      // renderer.
      for (const word of ["UND_ERR_HEADERS_TIMEOUT", "CreateArtifact", "PAR1", "index_bg.wasm"])
        expect(text.includes(word), `${file}: ${word}`).toBe(false);
    }
  });

  it("a step's other chunks contain the HTTP client, the engine and the renderer", () => {
    const chunks = readdirSync(path.join(dist, "chunks")).map((name) =>
      readFileSync(path.join(dist, "chunks", name), "utf8"),
    );
    for (const word of ["UND_ERR_HEADERS_TIMEOUT", "CreateArtifact", "PAR1", "index_bg.wasm"]) {
      expect(
        chunks.some((text) => text.includes(word)),
        word,
      ).toBe(true);
    }
  });

  it("a build fails when a step starts with an HTTP client", async () => {
    const heavy = path.join("build", `heavy-start-${process.pid}.ts`);
    writeFileSync(
      path.join(ROOT, heavy),
      'import { HttpClient } from "@actions/http-client";\nnew HttpClient("x").dispose();\n',
    );
    try {
      await expect(buildInto(path.join(directory, "heavy"), { "action/main": heavy })).rejects.toThrow(
        /action\/main starts with \d+ bytes of packages, .*undici/,
      );
    } finally {
      rmSync(path.join(ROOT, heavy));
    }
  });

  it("a build is the same byte for byte in another directory", async () => {
    const again = path.join(directory, "elsewhere/deeper/dist");
    await buildInto(again);
    expect(directoryHashes(again)).toEqual(directoryHashes(dist));
  });
});
