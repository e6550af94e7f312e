import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../core/package-root.ts";
import type { SnapshotDifference } from "../../snapshot/live/peak-difference.ts";
import { parseArguments } from "../console/command.ts";
import type { Console } from "../console/console.ts";
import { COMMANDS } from "./commands.ts";
import { compare } from "./compare.ts";
import { snapshot } from "./snapshot.ts";

const fixtures = path.join(packageRoot(), "test", "snapshot", "fixtures");
const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-snapshot-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const quiet: Console = {
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

/** The command with a console that keeps what it is given. */
async function run(...args: string[]) {
  const printed: string[] = [];
  const documents: Record<string, unknown>[] = [];
  const console: Console = {
    ...quiet,
    json: args.includes("--json"),
    print: (text) => printed.push(text),
    document: (value) => documents.push(value as Record<string, unknown>),
  };
  const code = await snapshot({ ...parseArguments(COMMANDS.snapshot!, args), console, argv: ["snapshot", ...args] });
  return { code, text: printed.join("\n"), document: documents[0] };
}

const fixture = (...names: string[]) => names.map((name) => path.join(fixtures, `${name}.pickle`));
const file = (name: string, content: string | Uint8Array): string => {
  const full = path.join(directory, name);
  writeFileSync(full, content);
  return full;
};

describe("snapshot", () => {
  it("lists live memory of a single snapshot by line, largest first", async () => {
    const { code, text } = await run(...fixture("before-blocks"));
    expect(code).toBe(0);
    expect(text).toMatch(/32\.29 MiB +3 +24\.00 MiB +← <no stack>/);
    expect(text).toMatch(/← train\.py:48 +training_step/);
    expect(text).not.toContain("grow");
  });

  it("names the line that grows between two snapshots, its callers, and unproven growth", async () => {
    const { code, text } = await run(...fixture("before", "after"));
    expect(code).toBe(0);
    expect(text).toMatch(/Lines that grow\n[^\n]*\n +\+\d+\.\d+ MiB .* train\.py:48 +training_step/);
    expect(text).toContain("first line called from train.py:90");
    expect(text).toMatch(/not growing: model\.py:88 \+\d+\.\d+ MiB \(fluctuates\)/);
  });

  it("exits 3 when a line grows and it was asked to", async () => {
    expect((await run("--exit-code", ...fixture("before", "after"))).code).toBe(3);
    expect((await run("--exit-code", ...fixture("before-blocks"))).code).toBe(0);
  });

  it("compares the peaks of two by line, and exits 3 when the later one is higher and it was asked to", async () => {
    const { code, text } = await run("--diff", "--exit-code", ...fixture("before", "after"));
    expect(code).toBe(3);
    expect(text).toMatch(/^Peak of cuda:0: 128\.68 MiB → 136\.30 MiB, \+7\.62 MiB\n/m);
    expect(text).toMatch(/ \+7\.50 MiB +5\.00 MiB +12\.50 MiB +train\.py:48 +training_step\n/);
    const totals = async (...names: string[]): Promise<readonly number[]> => {
      const { document } = await run("--diff", "--json", ...fixture(...names));
      const { devices } = document as unknown as SnapshotDifference;
      return devices.flatMap(({ difference_bytes: bytes, lines, unexplained_bytes: rest }) => [
        bytes,
        lines.reduce((sum, line) => sum + line.difference_bytes, rest),
      ]);
    };
    const [forth = 0, sum] = await totals("before", "after");
    expect(sum).toBe(forth);
    expect(await totals("after", "before")).toEqual([-forth, -forth]);
    await expect(run("--diff", ...fixture("before"))).rejects.toMatchObject({ exitCode: 2 });
  });

  it("gives what `compare` gives for the two", async () => {
    const args = fixture("before", "after");
    const printed: string[] = [];
    const console = { ...quiet, print: (text: string) => void printed.push(text) };
    await compare({ ...parseArguments(COMMANDS.compare!, args), console, argv: ["compare", ...args] });
    expect(printed.join("\n")).toBe((await run("--diff", ...args)).text);
  });

  it("prints tables as JSON, and nothing else", async () => {
    const { document, text } = await run("--json", ...fixture("before", "after"));
    expect(text).toBe("");
    expect(document).toMatchObject({
      schema: "stormlog.snapshot/1",
      growth: [{ file: "train.py", line: 48, trend: "grows" }],
      discarded: expect.arrayContaining([expect.objectContaining({ file: "model.py", trend: "churn" })]),
    });
    for (const table of ["snapshots", "live", "largest", "growth", "discarded", "survivors", "pools", "notes"]) {
      expect(Array.isArray(document?.[table]), table).toBe(true);
    }
  });

  it("names files from the directory given", async () => {
    const { document } = await run("--json", "--root", "/home/user", ...fixture("before"));
    expect(document).toMatchObject({ root: "/home/user" });
    expect(JSON.stringify(document?.live)).toContain('"file":"project/train.py"');
  });

  it("escapes a hostile name", async () => {
    const { pickled } = await import("../../snapshot/testing/pickle-writer.ts");
    const frames = [{ filename: "/job/\u001b[31mred\n.py", line: 1, name: "\u202eevil\u0007" }];
    const blocks = [{ size: 512, state: "active_allocated", frames }];
    const made = file("hostile.pickle", pickled([{ address: 0, total_size: 512, device: 0, blocks }]));
    const { text } = await run(made);
    expect(text).toContain("\\x1b[31mred");
    expect(text).not.toMatch(/[\u001b\u0007\u202e]/);
  });

  it.each([
    ["a file that is not there", () => path.join(directory, "absent"), "INPUT_NOT_FOUND"],
    ["an empty file", () => file("empty", ""), "INPUT_EMPTY"],
    ["a directory", () => directory, "INPUT_IS_DIRECTORY"],
    ["what torch.save wrote", () => file("saved.pt", "PK\u0003\u0004rest"), "INPUT_COMPRESSED"],
    ["a text", () => file("a.txt", "hello"), "SNAPSHOT_MALFORMED"],
    [
      "a pickle that loads code",
      () => file("evil.pickle", Buffer.from("\x80\x04cos\nsystem\n.", "latin1")),
      "SNAPSHOT_FORBIDDEN_OPCODE",
    ],
    ["a device", () => "/dev/null", "INPUT_NOT_A_FILE"],
  ])("refuses %s with exit 5", async (_name, make, code) => {
    await expect(run(make())).rejects.toMatchObject({ code, exitCode: 5 });
  });
});
