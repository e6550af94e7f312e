import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Invocation } from "../console/command.ts";
import { baseline } from "./baseline.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "baseline-command-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function invoked(...positionals: readonly string[]): Promise<number> {
  const console: Invocation["console"] = {
    json: false,
    color: false,
    quiet: false,
    width: 100,
    interactive: false,
    print: () => {},
    document: () => {},
    childOutput: () => () => {},
    progress: null,
  };
  const lists = { baseline: [`file:${path.join(directory, "store")}`] };
  const rest = ["touch", path.join(directory, "ran")];
  return baseline({ text: {}, lists, flags: {}, positionals, rest, argv: [], console });
}

describe("baseline refresh", () => {
  it.each(["refresh", "verify"])("%s takes the name of a scenario from an option alone", async (action) => {
    await expect(invoked(action, "train")).rejects.toMatchObject({ code: "ARGUMENT_UNEXPECTED", kind: "usage" });
    expect(existsSync(path.join(directory, "ran"))).toBe(false);
  });

  it("reports a damaged record before it measures", async () => {
    mkdirSync(path.join(directory, "store", "default"), { recursive: true });
    writeFileSync(path.join(directory, "store", "default", `${"a".repeat(16)}.json`), '{"schema": "stormlog.base');
    await expect(invoked("refresh")).rejects.toMatchObject({
      code: "BASELINE_STORE_UNWRITABLE",
      message: expect.stringContaining("is damaged: default/"),
      hint: expect.stringContaining("Remove that record"),
    });
    expect(existsSync(path.join(directory, "ran"))).toBe(false);
  });
});
