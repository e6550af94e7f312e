import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { copyProject } from "./npm-project.ts";
import { openState } from "./state.ts";

let directory: string;
let project: string;
let copy: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-project-"));
  project = path.join(directory, "project");
  copy = path.join(directory, "copy");
  mkdirSync(project);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const LOCK = JSON.stringify({ packages: { "": { dependencies: { a: "^2" } } } });
const write = (name: string, text = ""): void => {
  mkdirSync(path.dirname(path.join(project, name)), { recursive: true });
  writeFileSync(path.join(project, name), text);
};

describe("the copy of an npm project", () => {
  it("the copy of an npm project has the lock, its dependencies in the manifest and the project's files", async () => {
    write("package.json", `\uFEFF${JSON.stringify({ name: "p", scripts: { x: "y" }, dependencies: { a: "^1" } })}`);
    write("lib/a.js", "1");
    symlinkSync("lib/a.js", path.join(project, "link.js"));
    await copyProject(project, copy, LOCK);
    expect(JSON.parse(readFileSync(path.join(copy, "package.json"), "utf8"))).toEqual({
      name: "p",
      version: "0.0.0",
      scripts: { x: "y" },
      dependencies: { a: "^2" },
    });
    expect(readFileSync(path.join(copy, "package-lock.json"), "utf8")).toBe(LOCK);
    expect(readFileSync(path.join(copy, "link.js"), "utf8")).toBe("1");
  });

  it("the copy of an npm project has no logins, earlier searches, FIFOs or installed packages", async () => {
    write(".env");
    write("app/.env.local");
    write("node_modules/a/index.js");
    write("app/state.json", '{"mine": true}');
    write(
      ".npmrc",
      [
        "registry=https://registry.example",
        "//registry.example/:_authToken=npm_a",
        "_auth = b",
        "@o:registry=https://u:p@o.example",
      ].join("\n"),
    );
    execFileSync("mkfifo", [path.join(project, "fifo")]);
    await openState(path.join(project, "earlier"), { subject: "s", session: "one" }, false);
    await copyProject(project, copy, LOCK);
    expect(readdirSync(copy).sort()).toEqual([".npmrc", "app", "package-lock.json", "package.json"]);
    expect(readdirSync(path.join(copy, "app"))).toEqual(["state.json"]);
    expect(readFileSync(path.join(copy, ".npmrc"), "utf8")).toBe("registry=https://registry.example");
  });

  it("leaves the file behind a linked manifest alone", async () => {
    const shared = path.join(directory, "shared.json");
    writeFileSync(shared, '{"name":"shared"}');
    symlinkSync(shared, path.join(project, "package.json"));
    await copyProject(project, copy, LOCK);
    expect(readFileSync(shared, "utf8")).toBe('{"name":"shared"}');
    expect(JSON.parse(readFileSync(path.join(copy, "package.json"), "utf8")).name).toBe("shared");
  });

  it.each(["{", "[]"])("the copy of an npm project is refused with a code where the manifest is %s", async (text) => {
    write("package.json", text);
    await expect(copyProject(project, copy, LOCK)).rejects.toMatchObject({ code: "LOCK_INVALID", exitCode: 5 });
    expect(existsSync(copy)).toBe(false);
  });
});
