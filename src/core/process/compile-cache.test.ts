import { describe, expect, it } from "vitest";
import { compileCache, tokenVariable } from "./compile-cache.ts";

describe("compileCache", () => {
  const env = { NODE_COMPILE_CACHE: "/c" };

  it("compileCache returns the directory that Node reports, whatever the environment contains", () => {
    expect(compileCache({}, { getCompileCacheDir: () => "/c/v24" }, "24.0.0")).toBe("/c/v24");
    expect(compileCache(env, { getCompileCacheDir: () => undefined }, "24.0.0")).toBeNull();
  });

  it("compileCache returns the environment's directory in the versions that have a cache and do not report it", () => {
    expect(compileCache(env, {}, "22.7.0")).toBe("/c");
    expect(compileCache({ NODE_COMPILE_CACHE: "" }, {}, "22.7.0")).toBeNull();
    expect(compileCache({}, {}, "22.7.0")).toBeNull();
    expect(compileCache(env, {}, "20.19.0")).toBeNull();
  });

  it("these tests run without a compile cache", () => {
    expect(compileCache({})).toBeNull();
  });
});

describe("tokenVariable", () => {
  it.each([
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
  ])("finds %s", (name) => {
    expect(tokenVariable({ PATH: "/bin", [name]: "x" })).toBe(name);
  });

  it("finds none in an empty variable or one of another name", () => {
    expect(tokenVariable({ GITHUB_TOKEN: "", MAX_TOKENS: "5", ACTIONS_ID_TOKEN_REQUEST_URL: "x" })).toBeNull();
  });
});
