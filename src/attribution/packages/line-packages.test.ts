import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import type { Frame } from "../../snapshot/model/frames.ts";
import { linePackages, packageFrame } from "./line-packages.ts";

const frame = (file: string, line = 1): Frame => ({ file, line, function: "f" });
const SERVE = frame("/app/serve.py", 41);
const TOKENIZERS = frame("/env/site-packages/tokenizers/__init__.py", 7);
const NUMPY = frame("/env/site-packages/numpy/core.py", 3);
const JSON_DECODER = frame("/usr/lib/python3.11/json/decoder.py");

const lineAt = (place: Frame, user: boolean, stack: readonly Frame[], more = {}) => ({
  ...place,
  user,
  stack,
  placed: "allocated" as const,
  keptBy: null,
  ...more,
});

it("a line of a package belongs to it", () => {
  expect(packageFrame(lineAt(NUMPY, false, [NUMPY, TOKENIZERS]))).toEqual({ frame: NUMPY, relation: "contains" });
});

it("a user's line belongs to the package below it that is nearest to the allocation", () => {
  const stack = [JSON_DECODER, NUMPY, TOKENIZERS, SERVE, frame("/env/site-packages/uvicorn/main.py")];
  expect(packageFrame(lineAt(SERVE, true, stack))).toEqual({ frame: NUMPY, relation: "called" });
});

it("a user's line belongs to no package that only calls it", () => {
  expect(packageFrame(lineAt(SERVE, true, [SERVE, TOKENIZERS]))).toBeNull();
});

it("a line whose stack does not contain it belongs to no package", () => {
  expect(packageFrame(lineAt(SERVE, true, [NUMPY]))).toBeNull();
});

it("a line belongs to no package where the program's own container keeps what the package allocates", () => {
  expect(packageFrame(lineAt(SERVE, true, [NUMPY, SERVE], { keptBy: "the list `rows`" }))).toBeNull();
  const kept = { keptBy: "the dict `cache`", placed: "kept" as const };
  expect(packageFrame(lineAt(SERVE, true, [NUMPY, SERVE], kept))).toMatchObject({ relation: "called" });
});

it("a line that allocates tensors belongs to the package that calls PyTorch, not to PyTorch", () => {
  const torch = frame("/env/site-packages/torch/nn/functional.py");
  const model = frame("/env/site-packages/transformers/modeling.py");
  expect(packageFrame(lineAt(SERVE, true, [torch, SERVE]))).toBeNull();
  expect(packageFrame(lineAt(SERVE, true, [torch, model, SERVE]))).toMatchObject({ frame: model });
  expect(packageFrame(lineAt(SERVE, true, [torch, SERVE], { placed: "kept" }))).toMatchObject({ frame: torch });
});

it("a line of the standard library belongs to the package that calls it", () => {
  expect(packageFrame(lineAt(JSON_DECODER, false, [JSON_DECODER, NUMPY]))).toMatchObject({ relation: "calls" });
});

it("relative names and URLs of files are found from the directory of the command", () => {
  const top = realpathSync(mkdtempSync(path.join(tmpdir(), "stormlog-gate-line-packages-")));
  try {
    const directory = path.join(top, "node_modules", "a");
    mkdirSync(directory, { recursive: true });
    writeFileSync(path.join(directory, "package.json"), '{"name":"a","version":"1.0.0"}');
    const lines = [`file://${directory}/index.mjs`, "node_modules/a/index.js", "./node_modules/b/index.js"].map(
      (file) => lineAt(frame(file), false, [frame(file)]),
    );
    const found = linePackages(lines, top);
    expect(lines.map((line) => found.get(line)?.version)).toEqual(["1.0.0", "1.0.0", undefined]);
    expect(found.get(lines[0]!)).toEqual({ ecosystem: "node", name: "a", version: "1.0.0", relation: "contains" });
  } finally {
    rmSync(top, { recursive: true, force: true });
  }
});
