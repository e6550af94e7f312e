import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { MEASURED } from "./measure-session.ts";
import { keyName, refreshSettings } from "./settings.ts";

const root = new URL("../../../refresh/", import.meta.url);
const manifest = parse(readFileSync(new URL("action.yml", root), "utf8")) as { inputs: object; outputs: object };

const settings = (inputs: Readonly<Record<string, string>>) => refreshSettings((name) => inputs[name]);

describe("the inputs of a refresh", () => {
  it("inputs of a refresh are the ones that action.yml declares and the README explains", () => {
    const read = new Set<string>([...MEASURED, "token", "timeout-minutes"]);
    refreshSettings((name) => {
      read.add(name);
      return undefined;
    });
    expect([...read].sort()).toEqual(Object.keys(manifest.inputs).sort());
    const readme = readFileSync(new URL("README.md", root), "utf8");
    for (const name of [...read, ...Object.keys(manifest.outputs)]) expect(readme, name).toContain(`\`${name}\``);
  });

  it("inputs of a refresh have the documented defaults", () => {
    expect(settings({})).toEqual({
      key: "default",
      baseline: "ref:refs/stormlog/baselines",
      runs: "auto",
      promotion: { mode: "blocking", promoteAfter: null },
      composition: false,
      accept: null,
      anchor: "auto",
      issue: true,
      save: "tree",
      requireProtected: true,
      readMode: false,
      stage: "all",
      artifactName: "stormlog-refresh-default",
      retentionDays: null,
    });
  });

  it("inputs of a refresh keep the legs of a matrix apart", () => {
    const leg = settings({ "gate-id": "gpu", matrix: '{"card":"H100"}' });
    expect([leg.key, keyName(leg.key), leg.artifactName]).toEqual([
      "gpu/H100",
      "gpu+H100",
      "stormlog-refresh-gpu-H100",
    ]);
  });

  it.each([
    { "gate-id": "../x" },
    { baseline: "bundle:x" },
    { baseline: "none" },
    { baseline: "ref:a,ref:b" },
    { runs: "0" },
    { runs: "51" },
    { mode: "strict" },
    { "promote-after": "0" },
    { save: "push" },
    { anchor: "always" },
  ])("inputs of a refresh with a wrong value are refused: %j", (inputs) => {
    expect(() => settings(inputs)).toThrow(expect.objectContaining({ code: "INPUT_INVALID", exitCode: 2 }));
  });
});
