import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LinePackage } from "../../analysis/series/document.ts";
import type { Environment } from "../../core/process/environment.ts";
import { viewRepository } from "../../git/repository-view.ts";
import type { LockChanges } from "../../report/model/report-schema.ts";
import { SAMPLE_FINDING } from "../../report/testing/sample-report.ts";
import { lockChanges } from "./lock-changes.ts";

let top: string;

function git(...args: string[]): void {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
  execFileSync("git", ["-C", top, ...identity, ...args], { stdio: "ignore" });
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(top, file)), { recursive: true });
  writeFileSync(path.join(top, file), text);
}

function commit(): void {
  git("add", "--all");
  git("commit", "--quiet", "-m", "x");
}

const uv = (versions: Readonly<Record<string, string>>): string =>
  Object.entries(versions)
    .map(([name, version]) => `[[package]]\nname = "${name}"\nversion = "${version}"\n`)
    .join("\n");

/** A main branch of one commit with two locks, and a feature branch that is checked out. */
beforeEach(() => {
  top = realpathSync(mkdtempSync(path.join(tmpdir(), "stormlog-gate-locks-")));
  git("init", "--quiet", "--initial-branch=main");
  write("uv.lock", uv({ a: "1", numpy: "1.26.0", gone: "1" }));
  write("web/package-lock.json", JSON.stringify({ packages: { "node_modules/numpy": { version: "1.0.0" } } }));
  write("train.py", "x\n");
  commit();
  git("checkout", "--quiet", "-b", "feature");
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const NUMPY: LinePackage = { ecosystem: "python", name: "NumPy", version: "2.0.0", relation: "called" };

async function changes(owner: LinePackage | null = null, env: Environment = {}): Promise<LockChanges | null> {
  const findings = owner === null ? [SAMPLE_FINDING] : [{ ...SAMPLE_FINDING, package: owner }];
  return lockChanges(await viewRepository(top, env), findings);
}

const textOf = (found: LockChanges | null): readonly string[] | undefined =>
  found?.packages.map(({ name, from, to }) => `${name} ${from} ${to}`);

describe("the packages that a change locks to other versions", () => {
  it("lock changes list changed, added and removed packages, that of the named line first", async () => {
    write("uv.lock", uv({ a: "2", numpy: "2.0.0", fresh: "3" }));
    commit();
    expect(textOf(await changes())).toEqual(["a 1 2", "fresh null 3", "gone 1 null", "numpy 1.26.0 2.0.0"]);
    expect(textOf(await changes(NUMPY))?.[0]).toBe("numpy 1.26.0 2.0.0");
    expect(await changes(NUMPY)).toMatchObject({ total: 4 });
  });

  it("lock changes list all packages, and a package of another ecosystem is not the line's", async () => {
    const packages = { "node_modules/numpy": { version: "2.0.0" } };
    write("web/package-lock.json", JSON.stringify({ packages }));
    write("uv.lock", uv({ a: "2", b: "1", c: "1", d: "1", e: "1", numpy: "2.0.0" }));
    const found = await changes(NUMPY);
    expect(found).toMatchObject({ total: 8 });
    expect(found?.packages).toHaveLength(8);
    expect(found?.packages[0]).toEqual({ ecosystem: "python", name: "numpy", from: "1.26.0", to: "2.0.0" });
  });

  it("lock changes count in the working tree by hand, and in the commit alone in a job", async () => {
    write("train.py", "y\n");
    commit();
    write("uv.lock", uv({ a: "1", numpy: "2.0.0", gone: "1" }));
    expect(textOf(await changes())).toEqual(["numpy 1.26.0 2.0.0"]);
    expect(await changes(null, { CI: "true" })).toBeNull();
  });

  it("lock changes are null where no lock changed, a new one is damaged, or it is a link", async () => {
    expect(await changes()).toBeNull();
    write("web/package-lock.json", "{");
    expect(await changes()).toBeNull();
    rmSync(path.join(top, "uv.lock"));
    symlinkSync(path.join(top, "train.py"), path.join(top, "uv.lock"));
    expect(await changes()).toBeNull();
  });

  it("lock changes compare a renamed lock with its old name, and leave out a new one", async () => {
    mkdirSync(path.join(top, "app"));
    git("mv", "uv.lock", "app/uv.lock");
    write("app/uv.lock", uv({ a: "2", numpy: "1.26.0", gone: "1" }));
    write("requirements.txt", "fresh==1\n");
    commit();
    expect(textOf(await changes())).toEqual(["a 1 2"]);
  });

  it("lock changes show an address as one, because it could contain a password", async () => {
    write("requirements.txt", "a==1\n");
    commit();
    git("checkout", "--quiet", "-B", "main");
    git("checkout", "--quiet", "-b", "other");
    write("requirements.txt", "a @ https://user:secret@example.org/a.whl\n");
    expect(textOf(await changes())).toEqual(["a 1 an address"]);
  });
});
