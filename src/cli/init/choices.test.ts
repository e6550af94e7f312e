import { describe, expect, it } from "vitest";
import { runner, visibility } from "./choices.ts";

describe("runner", () => {
  it("runner is GitHub's own Linux machine by default", () => {
    expect(runner(undefined)).toEqual({ runsOn: "ubuntu-24.04", ownRunner: false });
  });

  it("writes one label as a string and several as a list", () => {
    expect(runner("gpu-a100")).toEqual({ runsOn: "gpu-a100", ownRunner: true });
    expect(runner("self-hosted, linux,gpu")).toEqual({ runsOn: "[self-hosted, linux, gpu]", ownRunner: true });
    expect(runner("ubuntu-22.04").ownRunner).toBe(false);
  });

  it("quotes labels that YAML would not read as text", () => {
    expect(runner("on").runsOn).toBe('"on"');
    expect(runner("24,No").runsOn).toBe('["24", "No"]');
  });

  it.each(["", "a b", "a,,b", "x: y", "$(x)", "a\nrun: b", "]", "é"])("refuses %j as a label", (text) => {
    expect(() => runner(text)).toThrow(expect.objectContaining({ code: "OPTION_INVALID", kind: "usage" }));
  });
});

describe("visibility", () => {
  it("visibility is unknown unless it is given", () => {
    expect([visibility(undefined), visibility("public"), visibility("private")]).toEqual([
      "unknown",
      "public",
      "private",
    ]);
    expect(() => visibility("internal")).toThrow(/public or private|internal/);
  });
});
