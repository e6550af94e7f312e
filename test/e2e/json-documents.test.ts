import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliResult, cli, freshDirectory } from "./cli.ts";

const directory = freshDirectory();
const run = (...args: string[]): Promise<CliResult> => cli(args, { cwd: directory });
const document = ({ stdout }: CliResult): Record<string, unknown> => JSON.parse(stdout);

beforeAll(async () => {
  await run("run", "--bundle", "bundle", "--baseline", "none", "--", "node", "-e", "setTimeout(() => {}, 200)");
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("--json", () => {
  it("prints the recording, and nothing after it, of a command that fails", async () => {
    const result = await run("record", "--json", "--output", "failed", "--", "node", "-e", "process.exit(7)");
    expect(result.code).toBe(1);
    expect(document(result)).toMatchObject({ schema: "stormlog.recording/1", exit: { kind: "exited", code: 7 } });
    expect(result.stderr).toContain("COMMAND_FAILED");
  });

  it("prints the error as a document when the command fails", async () => {
    const result = await run("show", "--json", "absent");
    expect(result.code).toBe(5);
    expect(document(result)).toMatchObject({ error: { code: "INPUT_NOT_FOUND" } });
  });

  it("prints the report that is in the bundle, which names the command it came from", async () => {
    const result = await run("run", "--json", "--bundle", "again", "--baseline", "none", "--", "true");
    expect(document(result)).toMatchObject({ tool: { name: "stormlog-gate", command: "run" } });
    expect(document(await run("show", "--json", "again"))).toEqual(document(result));
  });

  it("export refuses --json where another format would share stdout with it", async () => {
    const refused = await run("export", "bundle", "--format", "csv", "--json");
    expect(refused.code).toBe(2);
    expect(document(refused)).toMatchObject({ error: { code: "OUTPUT_MISSING" } });
    const written = await run(
      "export",
      "bundle",
      "--format",
      "csv",
      "--json",
      "--output",
      path.join(directory, "a.csv"),
    );
    expect(document(written)).toMatchObject({ format: "csv" });
    expect(document(await run("export", "bundle", "--format", "json", "--json"))).toMatchObject({
      format: "stormlog.report",
    });
  });

  it("names the bad baseline before the command has run", async () => {
    const args = ["--baseline", "absent.json", "--bundle", "early", "--", "node", "-e", "console.log('it ran')"];
    const result = await run("run", "--json", ...args);
    expect(result.code).toBe(5);
    expect(document(result)).toMatchObject({ error: { code: "INPUT_NOT_FOUND" } });
    expect(result.stderr).not.toContain("it ran");
  });
});

describe("analyze --exit-code", () => {
  const table = (name: string, growthPerStep: number): string => {
    const rows = Array.from({ length: 200 }, (_, step) => `${step},${2 ** 30 + step * growthPerStep}`);
    writeFileSync(path.join(directory, name), `step,allocated_bytes\n${rows.join("\n")}\n`);
    return name;
  };

  it("exits 3 on a leak and 0 on growth too slow to matter, with and without --batch", async () => {
    const leak = table("leak.csv", 2 ** 20);
    const slow = table("slow.csv", 2 ** 14);
    expect(document(await run("analyze", slow, "--json"))).toMatchObject({ findings: [] });
    for (const batch of [[], ["--batch"]]) {
      expect((await run("analyze", ...batch, "--exit-code", leak)).code).toBe(3);
      expect((await run("analyze", ...batch, "--exit-code", slow)).code).toBe(0);
      expect((await run("analyze", ...batch, leak)).code).toBe(0);
    }
  });
});
