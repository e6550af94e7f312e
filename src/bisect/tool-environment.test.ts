import { describe, expect, it } from "vitest";
import { toolEnvironment } from "./tool-environment.ts";

describe("the environment of builds and installations", () => {
  it("keeps what tools are found by, and no token under any name", () => {
    expect(
      toolEnvironment({
        PATH: "/usr/bin",
        HOME: "/home/u",
        https_proxy: "http://proxy:3128",
        CUDA_HOME: "/opt/cuda",
        PIP_INDEX_URL: "https://user:pass@index.example/simple",
        HTTPS_PROXY: "http://user:pass@proxy:3128",
        UV_INDEX: "https://index.example/simple",
        GITHUB_TOKEN: "a",
        MY_DEPLOY: "b",
        NPM_TOKEN_HOME: "c",
        ACTIONS_CACHE_DIR: "d",
        GIT_DIR: "e",
      }),
    ).toEqual({
      PATH: "/usr/bin",
      HOME: "/home/u",
      https_proxy: "http://proxy:3128",
      CUDA_HOME: "/opt/cuda",
      UV_INDEX: "https://index.example/simple",
    });
  });
});
