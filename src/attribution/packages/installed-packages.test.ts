import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { distributionOf, installedPackages, isPackageFile, recordedFiles } from "./installed-packages.ts";

let top: string;
let site: string;

beforeEach(() => {
  top = realpathSync(mkdtempSync(path.join(tmpdir(), "stormlog-gate-packages-")));
  site = path.join(top, "venv/lib/python3.11/site-packages");
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const METADATA = (name: string, version: string) =>
  `Metadata-Version: 2.4\nName: ${name}\nVersion: ${version}\n\nVersion: 9\n`;

function wheel(directory: string, files: readonly string[], metadata: string, root = site): void {
  const rows = files.map((file) => `${file},sha256=x,1\n`).join("");
  write(path.join(root, `${directory}.dist-info`, "RECORD"), rows);
  write(path.join(root, `${directory}.dist-info`, "METADATA"), metadata);
}

/** "name version" of the package that contains a file; undefined for none. */
function packageOf(file: string): string | undefined {
  const found = installedPackages([file]).get(file);
  return found === undefined ? undefined : `${found.name} ${found.version}`;
}

const inSite = (file: string): string | undefined => packageOf(`${site}/${file}`);

describe("the installed package of a Python file", () => {
  it("the package of a Python file is the distribution whose RECORD lists it, whatever its name", () => {
    wheel("pyyaml-6.0.3", ["yaml/__init__.py", '"odd,name/a.py"'], METADATA("PyYAML", "6.0.3"));
    wheel("ruamel.yaml-0.18", ["ruamel/yaml/main.py"], METADATA("ruamel.yaml", "0.18"));
    expect(inSite("yaml/__init__.py")).toBe("PyYAML 6.0.3");
    expect(inSite("odd,name/a.py")).toBe("PyYAML 6.0.3");
    expect(inSite("ruamel/yaml/main.py")).toBe("ruamel.yaml 0.18");
    expect(inSite("yaml/other.py")).toBeUndefined();
    expect(packageOf(path.join(top, "yaml/__init__.py"))).toBeUndefined();
  });

  it("the package of a Python file is unknown where two distributions list it", () => {
    wheel("a-1", ["shared/x.py"], METADATA("a", "1"));
    wheel("b-1", ["shared/x.py"], METADATA("b", "1"));
    expect(inSite("shared/x.py")).toBeUndefined();
  });

  it("the package of a Python file is found by its module where the only candidate has no RECORD", () => {
    const debian = path.join(top, "usr/lib/python3/dist-packages");
    write(path.join(debian, "PyYAML-6.0.egg-info/PKG-INFO"), METADATA("PyYAML", "6.0"));
    write(path.join(debian, "PyYAML-6.0.egg-info/top_level.txt"), "_yaml\nyaml\n");
    write(path.join(debian, "six-1.16.0.egg-info/PKG-INFO"), METADATA("six", "1.16.0"));
    expect(packageOf(`${debian}/yaml/nodes.py`)).toBe("PyYAML 6.0");
    expect(packageOf(`${debian}/six.py`)).toBe("six 1.16.0");
    write(path.join(debian, "yaml-1.egg-info/PKG-INFO"), METADATA("yaml", "1"));
    expect(packageOf(`${debian}/yaml/nodes.py`)).toBeUndefined();
  });

  it("the package of a Python file is unknown where its metadata is damaged, too large or not a regular file", () => {
    wheel("evil-1", ["evil.py"], METADATA("<img src=x>", "1"));
    wheel("old-1", ["old.py"], METADATA("old", "1 | 2"));
    wheel("large-1", ["large.py"], METADATA("large", "1"));
    truncateSync(path.join(site, "large-1.dist-info/METADATA"), 17 * 1024 * 1024);
    wheel("pipe-1", ["pipe.py"], "");
    rmSync(path.join(site, "pipe-1.dist-info/METADATA"));
    execFileSync("mkfifo", [path.join(site, "pipe-1.dist-info/METADATA")]);
    wheel("good-1", ["good.py"], METADATA("good", "1"));
    rmSync(path.join(site, "good-1.dist-info/RECORD"));
    symlinkSync("/dev/zero", path.join(site, "good-1.dist-info/RECORD"));
    const files = ["evil.py", "old.py", "large.py", "pipe.py", "absent.py"].map((file) => `${site}/${file}`);
    expect([...installedPackages(files)]).toEqual([]);
  });

  it("a Python package is yanked where pip's installation report lists the same version as yanked", () => {
    const report = path.join(top, "report.json");
    const file = `${site}/multidict/_abc.py`;
    wheel("multidict-6.3.1", ["multidict/_abc.py"], METADATA("multidict", "6.3.1"));
    const yanked = (content: unknown): unknown => {
      write(report, JSON.stringify(content));
      return installedPackages([file], report).get(file)?.yanked;
    };
    const item = (more: object, version = "6.3.1") => ({
      install: [3, { metadata: { name: "Multidict", version }, ...more }],
    });
    expect(yanked(item({ is_yanked: true }))).toBe(true);
    expect(yanked(item({ is_yanked: true }, "6.4.0"))).toBeUndefined();
    expect(yanked(item({}))).toBeUndefined();
    expect(yanked({ install: {} })).toBeUndefined();
    rmSync(report);
    expect(installedPackages([file], report).get(file)).not.toHaveProperty("yanked");
  });

  it("METADATA is read from its first header, and RECORD as comma-separated values", () => {
    expect(distributionOf("name: a\r\nVersion: 1\r\n\r\nVersion: 2")).toMatchObject({ name: "a", version: "1" });
    expect(distributionOf("Summary: a\n\nName: a\nVersion: 1\n")).toBeNull();
    expect([...recordedFiles('a.py,sha256=x,1\r\n"b ""c"".py",,\nd')]).toEqual(["a.py", 'b "c".py', "d"]);
  });
});

describe("the installed package of a file of Node", () => {
  const manifest = (directory: string, content: object): void =>
    write(path.join(top, directory, "package.json"), JSON.stringify(content));

  it("the package of a file of Node is that of the nearest node_modules, by the name in its manifest", () => {
    manifest("node_modules/undici", { name: "undici", version: "5.14.0" });
    manifest("node_modules/undici/lib", { type: "commonjs" });
    manifest("node_modules/@grpc/grpc-js", { name: "@grpc/grpc-js", version: "1.4.2" });
    manifest("node_modules/a/node_modules/alias", { name: "real", version: "2.0.0-rc.1+b" });
    manifest("node_modules/.pnpm/b@1.0.0/node_modules/b", { name: "b", version: "1.0.0" });
    expect(packageOf(`${top}/node_modules/undici/lib/fetch/index.js`)).toBe("undici 5.14.0");
    expect(packageOf(`${top}/node_modules/@grpc/grpc-js/build/src/channel.js`)).toBe("@grpc/grpc-js 1.4.2");
    expect(packageOf(`${top}/node_modules/a/node_modules/alias/index.js`)).toBe("real 2.0.0-rc.1+b");
    expect(packageOf(`${top}/node_modules/.pnpm/b@1.0.0/node_modules/b/x.js`)).toBe("b 1.0.0");
  });

  it("the package of a file of Node is unknown without a manifest that has a name and a version", () => {
    manifest("node_modules/a", { name: "a" });
    manifest("node_modules/b", { name: "<b>", version: "1.0.0" });
    write(path.join(top, "node_modules/c/package.json"), "{");
    const files = ["a", "b", "c", "d", ".bin"].map((name) => `${top}/node_modules/${name}/index.js`);
    expect([...installedPackages(files)]).toEqual([]);
    expect(isPackageFile(`${top}/node_modules/d/index.js`)).toBe(true);
    expect(isPackageFile(`${top}/src/index.js`)).toBe(false);
  });

  it("a package of Node is deprecated where npm's lock lists the same version as deprecated", () => {
    manifest("node_modules/a", { name: "a", version: "1.0.0" });
    const lock = (version: string): void =>
      write(
        path.join(top, "package-lock.json"),
        JSON.stringify({ packages: { "node_modules/a": { version, deprecated: "leaks" } } }),
      );
    const file = `${top}/node_modules/a/index.js`;
    lock("2.0.0");
    expect(installedPackages([file]).get(file)).not.toHaveProperty("deprecated");
    lock("1.0.0");
    expect(installedPackages([file]).get(file)).toMatchObject({ deprecated: "leaks" });
  });
});
