import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { INPUT_NAMES, publishSettings, readInputs } from "./inputs.ts";

const manifest = parse(readFileSync(new URL("../../../action.yml", import.meta.url), "utf8"));

describe("inputs", () => {
  it("INPUT_NAMES are the inputs that action.yml declares", () => {
    expect([...INPUT_NAMES].sort()).toEqual(Object.keys(manifest.inputs).sort());
  });

  it("inputs are read from the runner's variables, trimmed and without empty ones", () => {
    const env = { "INPUT_GATE-ID": " a ", INPUT_RUN: "\nnode x\n", INPUT_CONFIG: "", OTHER: "1" };
    expect(readInputs(env)).toEqual({ "gate-id": "a", run: "node x" });
  });

  it("inputs have the documented defaults", () => {
    expect(publishSettings({})).toEqual({
      token: null,
      gateId: "default",
      leg: null,
      comment: true,
      image: "auto",
      artifactName: "stormlog-default",
      retentionDays: null,
      verdictFails: true,
      timeoutMs: 3_600_000,
    });
  });

  it("inputs give each leg of a matrix its own artifact, and all of them one comment", () => {
    const settings = publishSettings({ "gate-id": "train", matrix: '{"os":"linux"}' });
    expect(settings.artifactName).toBe("stormlog-train-linux");
    expect(settings).toMatchObject({ gateId: "train", leg: "linux" });
  });

  it.each([
    { "gate-id": "a b" },
    { "gate-id": "--><script>" },
    { "fail-on": "sometimes" },
    { comment: "yes" },
    { image: "gif" },
    { "retention-days": "0" },
    { "retention-days": "1.5" },
    { "retention-days": "91" },
    { "timeout-minutes": "0" },
    { "timeout-minutes": "soon" },
    { matrix: "Object" },
  ])("inputs with a wrong value are refused: %j", (inputs) => {
    expect(() => publishSettings(inputs)).toThrow(expect.objectContaining({ code: "INPUT_INVALID", exitCode: 2 }));
  });
});

describe("the page about the Action", () => {
  const page = readFileSync(new URL("../../../docs/github-action.md", import.meta.url), "utf8");

  it.each(["inputs", "outputs"] as const)(
    "the page about the Action lists every one of its %s and no others",
    (kind) => {
      const [, section = ""] = page.split(kind === "inputs" ? "## Inputs" : "## Outputs");
      const rows = section.split("\n## ")[0]?.match(/^\| `[^|]*/gm) ?? [];
      const names = rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
      expect(names.sort()).toEqual(Object.keys(manifest[kind]).sort());
    },
  );
});
