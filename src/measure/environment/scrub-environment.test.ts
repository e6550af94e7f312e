import { describe, expect, it } from "vitest";
import { MARKER_VARIABLE, scrubEnvironment } from "./scrub-environment.ts";

describe("scrubEnvironment", () => {
  const caller = {
    PATH: "/bin",
    HF_TOKEN: "the command's own business",
    RUNNER_TRACKING_ID: "github_1",
    GITHUB_SHA: "abc",
    GITHUB_WORKSPACE: "/w",
    ACTIONS_RUNTIME_TOKEN: "x",
    "INPUT_GITHUB-TOKEN": "x",
    STATE_pid: "x",
    GITHUB_TOKEN: "x",
    GH_TOKEN: "x",
    GITHUB_ENV: "x",
    GITHUB_OUTPUT: "x",
    GITHUB_PATH: "x",
    GITHUB_STATE: "x",
    GITHUB_STEP_SUMMARY: "x",
    EMPTY: "",
    UNSET: undefined,
  };

  it("drops the variables of the step and keeps the others", () => {
    const { env, dropped } = scrubEnvironment(caller, {}, "m");
    expect(env).toEqual({
      PATH: "/bin",
      HF_TOKEN: "the command's own business",
      RUNNER_TRACKING_ID: "github_1",
      GITHUB_SHA: "abc",
      GITHUB_WORKSPACE: "/w",
      EMPTY: "",
      [MARKER_VARIABLE]: "m",
    });
    expect(dropped).toHaveLength(10);
    expect(dropped).toEqual([...dropped].sort());
  });

  it("drops a token of the step under another name, or within another value", () => {
    const token = "ghs_0123456789abcdef";
    const { env, dropped } = scrubEnvironment(
      { INPUT_TOKEN: token, MY_TOKEN: token, URL: `https://x:${token}@example.org`, HF_TOKEN: "hf_0123456789abcdef" },
      {},
      "m",
    );
    expect(dropped).toEqual(["INPUT_TOKEN", "MY_TOKEN", "URL"]);
    expect(env.HF_TOKEN).toBe("hf_0123456789abcdef");
  });

  it.each([
    ["checkout's authorization header", "AUTHORIZATION: basic ", "x-access-token:"],
    ["a header of a user with a name of one letter", "Authorization: Basic ", "x:"],
    ["a header without a user", "Authorization: Basic ", ""],
    ["a header of a user with a name of two letters", "Authorization: Basic ", "me:"],
  ])("drops %s, in every spelling of base64", (_what, scheme, user) => {
    const token = "ghs_0123456789~~~abcdef???0123456789ABCD";
    const text = `${user}${token}\nmore`;
    const wrapped = Buffer.from(text).toString("base64").replace(/.{20}/g, "$&\n");
    const { env, dropped } = scrubEnvironment(
      {
        INPUT_TOKEN: token,
        GIT_CONFIG_VALUE_0: `${scheme}${Buffer.from(text).toString("base64")}`,
        GIT_CONFIG_VALUE_1: `${scheme}${Buffer.from(text).toString("base64url")}`,
        WRAPPED: wrapped,
        OTHER: `${scheme}${Buffer.from(`${user}another-token`).toString("base64")}`,
      },
      {},
      "m",
    );
    expect(dropped).toEqual(["GIT_CONFIG_VALUE_0", "GIT_CONFIG_VALUE_1", "INPUT_TOKEN", "WRAPPED"]);
    expect(Object.keys(env)).toEqual(["OTHER", MARKER_VARIABLE]);
  });

  it("does not take a short value for a token", () => {
    expect(scrubEnvironment({ INPUT_TOKEN: "a", PATH: "/a/b", GH_TOKEN: "" }, {}, "m").env.PATH).toBe("/a/b");
  });

  it("lets the scenario set a dropped name, but not the marker", () => {
    const { env } = scrubEnvironment(caller, { GH_TOKEN: "mine", [MARKER_VARIABLE]: "forged" }, "m");
    expect(env).toMatchObject({ GH_TOKEN: "mine", [MARKER_VARIABLE]: "m" });
  });
});
