import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { packChunks, sha256 } from "../../../scripts/pack.mjs";
import { loadPack } from "./loader.ts";

const root = mkdtempSync(path.join(tmpdir(), "stormlog-pack-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const CHUNKS = {
  "action/main.js": `import { count, increase } from "../chunks/counter.js";
import { basename } from "node:path";
increase();
export const done = (async () => {
  const late = await import("../chunks/late.js");
  return [basename("/a/b"), count, late.twice("ä"), stormlogCode.files];
})();`,
  "chunks/counter.js": "export let count = 0;\nexport function increase() { count += 1; }",
  "chunks/late.js": `import { count } from "./counter.js";
globalThis.lateChunkRan = count;
export const twice = (text) => text + text + count;`,
  "chunks/broken.js": `\n\nexport function fail() {\n  throw new Error("x");\n}`,
  "chunks/foreign.js": 'export const client = () => import("@actions/core");',
  "chunks/sloppy.js": "export const assign = () => { undeclared = 1; };",
};

async function pack(name: string): Promise<{ url: string; file: string; text: string; digest: string }> {
  const chunks = Object.entries(CHUNKS).map(([at, text]) => ({ path: at, text }));
  const text = await packChunks(chunks, { "shard-worker.js": "00" });
  const action = path.join(root, name, "action");
  mkdirSync(action, { recursive: true });
  const file = path.join(action, "code.js");
  writeFileSync(file, text);
  return { url: pathToFileURL(path.join(action, "main.js")).href, file, text, digest: sha256(text) };
}

describe("the loader of the Action's code", () => {
  it("executes chunks from memory after the file is gone, each when it is first imported", async () => {
    const { url, file, digest } = await pack("gone");
    const load = loadPack(url, digest);
    writeFileSync(file, "process.exit(9)");
    rmSync(file);
    const global = globalThis as { lateChunkRan?: number };
    expect(global.lateChunkRan).toBeUndefined();
    const done = load("main.js").done;
    expect(global.lateChunkRan).toBeUndefined();
    expect(await done).toEqual(["b", 1, "ää1", { "shard-worker.js": "00" }]);
    expect(global.lateChunkRan).toBe(1);
  });

  it("executes each chunk once, in strict mode", async () => {
    const { url, digest } = await pack("once");
    const load = loadPack(url, digest);
    expect(load("counter.js")).toBe(load("counter.js"));
    expect(load("sloppy.js").assign).toThrow("undeclared is not defined");
  });

  it("refuses a pack of which one byte is another", async () => {
    const { url, file, text, digest } = await pack("changed");
    writeFileSync(file, text.replace("lateChunkRan", "lateChunkRun"));
    expect(() => loadPack(url, digest)).toThrow(`${file} is not the file that this Action was built with`);
  });

  it("imports no package that lies beside or above it", async () => {
    const { url, digest } = await pack("foreign");
    const planted = path.join(root, "node_modules/@actions/core");
    mkdirSync(planted, { recursive: true });
    writeFileSync(path.join(planted, "index.js"), "module.exports = 1;");
    const client = loadPack(url, digest)("foreign.js").client as () => Promise<unknown>;
    await expect(client()).rejects.toThrow('has no chunk "core"');
  });

  it("shows the place in the pack in stack traces", async () => {
    const { url, file, text, digest } = await pack("stack");
    const fail = loadPack(url, digest)("broken.js").fail as () => void;
    const line = text.split("\n").findIndex((one) => one.includes("throw new Error"));
    expect(line).toBeGreaterThan(0);
    let stack = "";
    try {
      fail();
    } catch (error) {
      stack = (error as Error).stack ?? "";
    }
    expect(stack).toContain(`${file}:${line + 1}:`);
  });
});
