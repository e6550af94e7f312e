import { describe, expect, it } from "vitest";
import { toolEnvironment } from "./tool-environment.ts";

describe("the environment of builds and installations", () => {
  it("keeps what tools are found by, and no token under any name", () => {
    const { env, dropped, secrets } = toolEnvironment({
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
      GH_CONFIG_DIR: "/home/u/gh",
      SHLVL: "1",
    });
    expect(env).toEqual({
      PATH: "/usr/bin",
      HOME: "/home/u",
      https_proxy: "http://proxy:3128",
      CUDA_HOME: "/opt/cuda",
      UV_INDEX: "https://index.example/simple",
    });
    expect(dropped).toEqual([
      "GH_CONFIG_DIR",
      "GITHUB_TOKEN",
      "GIT_DIR",
      "HTTPS_PROXY",
      "MY_DEPLOY",
      "NPM_TOKEN_HOME",
      "PIP_INDEX_URL",
    ]);
    expect(secrets).toEqual(["GITHUB_TOKEN", "HTTPS_PROXY", "NPM_TOKEN_HOME", "PIP_INDEX_URL"]);
  });

  it.each([
    ["https_proxy", "user:SECRET@proxy:3128"],
    ["ALL_PROXY", "user:SEC/RET@proxy:3128"],
    ["PIP_EXTRA_INDEX_URL", "https://index.example/simple https://tok@index.example/simple"],
    ["UV_INDEX", "https://index.example/simple?access_token=SECRET"],
    ["UV_FIND_LINKS", "https://index.example/deploy-secret-1/simple"],
    ["JAVA_TOOL_OPTIONS", "-Djavax.net.ssl.trustStorePassword=SECRET"],
    ["NODE_AUTH_TOKEN", "SECRET"],
    ["TF_VAR_database", "SECRET"],
  ])("drops %s=%s", (name, value) => {
    expect(toolEnvironment({ [name]: value, DEPLOY_TOKEN: "deploy-secret-1" }).env).toEqual({});
  });

  it("keeps the settings of allocators, runtimes, threads and devices that `run` measures under", () => {
    const settings = {
      MALLOC_ARENA_MAX: "2",
      GLIBC_TUNABLES: "glibc.malloc.tcache_count=0",
      NODE_OPTIONS: "--max-old-space-size=512",
      PYTHONHASHSEED: "0",
      PYTHONMALLOC: "malloc",
      PYTHONPATH: "src",
      PYTORCH_CUDA_ALLOC_CONF: "expandable_segments:True",
      CUDA_LAUNCH_BLOCKING: "1",
      OMP_NUM_THREADS: "4",
      MKL_NUM_THREADS: "4",
      OPENBLAS_NUM_THREADS: "4",
      TOKENIZERS_PARALLELISM: "false",
      XLA_PYTHON_CLIENT_PREALLOCATE: "false",
      TF_GPU_ALLOCATOR: "cuda_malloc_async",
      JAX_PLATFORMS: "cpu",
      LD_LIBRARY_PATH: "/opt/lib",
      GOGC: "50",
    };
    expect(toolEnvironment({ ...settings, APP_WORKERS: "4" })).toEqual({
      env: settings,
      dropped: ["APP_WORKERS"],
      secrets: [],
    });
  });
});
