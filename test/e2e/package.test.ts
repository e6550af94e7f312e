import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { freshDirectory } from "./cli.ts";

const root = packageRoot();
const directory = freshDirectory();

/** npm or npx without a network, in an environment that no outer npm has set up. */
function npm(cwd: string, program: "npm" | "npx", ...args: readonly string[]) {
  const env = { PATH: process.env.PATH, HOME: directory, npm_config_offline: "true", npm_config_audit: "false" };
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: "utf8" });
  return { status, stdout, stderr };
}

describe("the packed package, installed into an empty project without a network", () => {
  const project = path.join(directory, "project");

  beforeAll(() => {
    const packed = npm(root, "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", directory);
    expect(packed, packed.stderr).toMatchObject({ status: 0 });
    mkdirSync(project);
    writeFileSync(path.join(project, "package.json"), '{ "private": true }');
    const installed = npm(project, "npm", "install", "--save-dev", path.join(directory, packed.stdout.trim()));
    expect(installed, installed.stderr).toMatchObject({ status: 0 });
  }, 120_000);

  it("the installed package is one package without dependencies", () => {
    expect(readdirSync(path.join(project, "node_modules")).filter((name) => !name.startsWith("."))).toEqual([
      "stormlog-gate",
    ]);
  });

  it("measures with npx, and the commands it prints run from the user's shell", () => {
    const script = "setTimeout(() => {}, 300)";
    const { status, stdout } = npm(project, "npx", "stormlog-gate", "run", "--", "node", "-e", script);
    expect(status).toBe(6);
    expect(stdout).toContain(`npx stormlog-gate baseline refresh -- node -e '${script}'`);
    const [, bundle = ""] = /npx stormlog-gate show -v (\S+)/.exec(stdout) ?? [];
    expect(npm(project, "npx", "stormlog-gate", "show", bundle).status).toBe(0);
  }, 60_000);

  it("finds the demo's workload and the schemas", () => {
    const files = readdirSync(path.join(project, "node_modules", "stormlog-gate"), { recursive: true });
    expect(files).toEqual(expect.arrayContaining([path.join("leak-lab", "demo", "workload.mjs"), "schema"]));
  });
});

describe("a clone without development packages", () => {
  it("runs what npm scripts start from dist alone", () => {
    const clone = path.join(directory, "clone");
    mkdirSync(clone);
    for (const name of ["package.json", "package-lock.json"])
      copyFileSync(path.join(root, name), path.join(clone, name));
    for (const name of ["dist", "leak-lab"]) symlinkSync(path.join(root, name), path.join(clone, name));
    const installed = npm(clone, "npm", "ci", "--omit=dev");
    expect(installed, installed.stderr).toMatchObject({ status: 0 });
    const { status, stdout } = npm(clone, "npm", "run", "--silent", "demo", "--", "--help");
    expect(status).toBe(0);
    expect(stdout).toContain("stormlog-gate demo");
  }, 60_000);
});
