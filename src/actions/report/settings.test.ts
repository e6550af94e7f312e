import { describe, expect, it } from "vitest";
import { reportSettings } from "./report.ts";

const settings = (inputs: Readonly<Record<string, string>> = {}) => reportSettings((name) => inputs[name]);

describe("the inputs of the report", () => {
  it("the report's inputs have defaults under which the step itself never fails for a verdict", () => {
    expect(settings()).toEqual({ gateId: "default", image: "auto", comment: true, runId: null, verdictFails: false });
  });

  it("the report's inputs are taken as they are given", () => {
    const given = { "gate-id": "gpu", image: "none", comment: "never", "run-id": "42", "fail-on": "regression" };
    expect(settings(given)).toEqual({ gateId: "gpu", image: "none", comment: false, runId: 42, verdictFails: true });
  });

  it.each([
    [{ "gate-id": "a b" }, "gate-id"],
    [{ image: "png" }, "image"],
    [{ comment: "yes" }, "comment"],
    [{ "run-id": "latest" }, "run-id"],
    [{ "fail-on": "pass" }, "fail-on"],
  ])("a wrong input of the report is refused by name: %j", (inputs, name) => {
    expect(() => settings(inputs as unknown as Record<string, string>)).toThrow(
      expect.objectContaining({ code: "INPUT_INVALID", message: expect.stringContaining(`input ${name}`) }),
    );
  });
});
