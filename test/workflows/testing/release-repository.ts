import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { packageRoot } from "../../../src/core/package-root.ts";
import { Repository } from "./repository.ts";
import { type Ended, ran } from "./tools.ts";

const root = packageRoot();
const NEEDED = ["scripts/release", "scripts/check-native.sh", "dist/prebuilds", "action.yml", "package-lock.json"];
/** Other files of the package. */
const SHIPPED = ["dist", "schema", "leak-lab", "README.md", "LICENSE"];

/**
 * A clone of the project as it would be at a release, with a bare repository as its remote: nothing leaves this
 * machine.
 */
export class ReleaseRepository extends Repository {
  readonly remote = mkdtempSync(path.join(tmpdir(), "stormlog-remote-"));

  /** @param whole with all files of the package; most tests need few of them */
  constructor(whole = false) {
    super();
    this.git("config", "core.compression", "0");
    this.git("init", "--quiet", "--bare", this.remote);
    this.git("remote", "add", "origin", this.remote);
    for (const name of whole ? [...NEEDED, ...SHIPPED] : NEEDED) {
      cpSync(path.join(root, name), path.join(this.directory, name), {
        recursive: true,
        filter: (file) => !file.includes("__pycache__"),
      });
    }
    this.write(".gitignore", "build/\n");
  }

  /** Set the version everywhere, write its section of the changelog, commit and push. */
  prepare(version: string, notes = "### Fixed\n- A leak.\n"): string {
    for (const name of ["package.json", "package-lock.json"]) {
      const source = path.join(name === "package.json" ? root : this.directory, name);
      const manifest = JSON.parse(readFileSync(source, "utf8"));
      manifest.version = version;
      if (manifest.packages !== undefined) manifest.packages[""].version = version;
      this.write(name, `${JSON.stringify(manifest, null, 2)}\n`);
    }
    this.write(
      "CHANGELOG.md",
      `# Changelog\n\n## Unreleased\n\n## ${version} (2026-11-21)\n\n${notes}\n## 0.1.0\n\n- First.\n`,
    );
    return this.publish(`version ${version}`);
  }

  publish(message: string): string {
    const commit = this.commit(message);
    this.git("push", "--quiet", "--force", "origin", "HEAD:refs/heads/main");
    this.git("fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*");
    return commit;
  }

  script(name: string, ...args: readonly string[]): Ended {
    return ran(process.execPath, [`scripts/release/${name}.mjs`, ...args], { cwd: this.directory });
  }

  /** Tags of the remote and the commits they lead to. */
  tags(): Readonly<Record<string, string>> {
    const text = this.git(
      "--git-dir",
      this.remote,
      "for-each-ref",
      "--format=%(refname:short) %(objectname)",
      "refs/tags",
    );
    return Object.fromEntries(
      text
        .split("\n")
        .filter(Boolean)
        .map((line) => line.split(" ") as [string, string]),
    );
  }

  override remove(): void {
    super.remove();
    rmSync(this.remote, { recursive: true, force: true });
  }

  /** A stand-in for the build of a macOS machine. */
  addPrebuild(platform: string): void {
    this.write(`dist/prebuilds/${platform}/sampler.node`, `not a real one: ${platform}\n`);
  }
}

/** `name=value` lines, as a step's outputs are. */
export function outputsOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line.includes("="))
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
}

/** A program on the path that writes down how it was called instead of doing it. */
export function recordingProgram(directory: string, name: string, answer = ""): string {
  const file = path.join(directory, name);
  writeFileSync(
    file,
    `#!/bin/sh\nprintf '%s ' ${name} "$@" >>"${directory}/calls"\necho >>"${directory}/calls"\n${answer}\n`,
    { mode: 0o755 },
  );
  return path.join(directory, "calls");
}
