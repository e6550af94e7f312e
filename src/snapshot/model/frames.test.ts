import { describe, expect, it } from "vitest";
import { relativePath, userFrames } from "./frames.ts";

const file = (name: string) => ({ file: name, line: 1, function: "f" });

describe("userFrames", () => {
  const isUser = userFrames({ root: "/home/me/torch/project/", exclude: ["/opt/gate/probe"] });

  it.each([
    "/home/me/torch/project/train.py",
    "/home/me/torch/project/torch/mine.py",
    "train.py",
    "<string>",
    "<stdin>",
    "/elsewhere/shared/library_of_mine.py",
    "C:\\work\\train.py",
    "file:///home/me/train.mjs",
  ])("classifies %s as user code", (name) => {
    expect(isUser(file(name))).toBe(true);
  });

  it.each([
    "/home/me/torch/project/.venv/lib/python3.11/site-packages/numpy/core.py",
    "/home/me/torch/project/node_modules/x/index.js",
    "/usr/lib/python3/dist-packages/torch/optim/adam.py",
    "/usr/lib/python3.13/threading.py",
    "/opt/conda/lib/python3.10/runpy.py",
    "C:\\Python311\\Lib\\site-packages\\torch\\_tensor.py",
    "/opt/pytorch/torch/nn/modules/linear.py",
    "/opt/pytorch/c10/cuda/CUDACachingAllocator.cpp",
    "<frozen importlib._bootstrap>",
    "<eval_with_key>.3",
    "node:internal/modules/cjs/loader",
    "/opt/gate/probe/inject/sitecustomize.py",
    "??",
    "",
  ])("classifies %s as foreign code", (name) => {
    expect(isUser(file(name))).toBe(false);
  });
});

describe("relativePath", () => {
  it("makes a path relative inside the repository and keeps it outside", () => {
    expect(relativePath("/repo/a/b.py", "/repo/")).toBe("a/b.py");
    expect(relativePath("/repository/b.py", "/repo")).toBe("/repository/b.py");
    expect(relativePath("C:\\repo\\a.py", "C:\\repo")).toBe("a.py");
    expect(relativePath("./a.py", null)).toBe("a.py");
    expect(relativePath("file:///repo/a.mjs", "/repo")).toBe("a.mjs");
  });
});
