import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { packageRoot } from "../../src/core/package-root.ts";
import { outputsOf, ReleaseRepository, recordingProgram } from "./testing/release-repository.ts";
import { ran } from "./testing/tools.ts";

interface Step {
  readonly name?: string;
  readonly id?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}
interface Workflow {
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly needs?: string | readonly string[];
        readonly permissions: Readonly<Record<string, string>>;
        readonly steps: readonly Step[];
      }
    >
  >;
}

const WORKFLOW: Workflow = parse(readFileSync(path.join(packageRoot(), ".github/workflows/release.yml"), "utf8"));
const MACOS = ["darwin-arm64", "darwin-x64"];

// Dozens of git and Node processes: on a busy machine each is slow.
vi.setConfig({ testTimeout: 90_000 });

let repository: ReleaseRepository;
beforeEach(() => {
  repository = new ReleaseRepository();
});
afterEach(() => repository.remove());

/** Replace the small clone by one with everything that is packed. */
const whole = (): void => {
  repository.remove();
  repository = new ReleaseRepository(true);
};

const assembled = (): void => {
  for (const platform of MACOS) repository.addPrebuild(platform);
  expect(repository.script("prebuilds", "write").code).toBe(0);
};

/** Cut the prepared version and return its outputs. */
const cut = (...args: readonly string[]): Readonly<Record<string, string>> => {
  const ended = repository.script("cut", ...args);
  expect(ended.code, ended.stderr).toBe(0);
  return outputsOf(ended.stdout);
};

describe("a release", () => {
  it("a release is one tagged commit with the prebuilds on top of the main branch", () => {
    const main = repository.prepare("1.2.0");
    assembled();
    const { version, tag, commit } = cut();
    expect([version, tag]).toEqual(["1.2.0", "v1.2.0"]);
    expect(repository.tags()).toEqual({ "v1.2.0": commit });
    expect(repository.git("rev-parse", `${commit}^`)).toBe(main);
    const changed = repository.git("diff", "--name-only", main, commit as string).split("\n");
    expect(changed).toEqual(
      ["SHA256SUMS", ...MACOS.map((name) => `${name}/sampler.node`)].map((name) => `dist/prebuilds/${name}`),
    );
    // The branch stays where it was reviewed.
    expect(repository.git("ls-remote", "origin", "refs/heads/main").split("\t")[0]).toBe(main);
  });

  it("a release may be repeated unchanged, and never with other bytes under the same version", () => {
    repository.prepare("1.2.0");
    assembled();
    const first = cut();
    expect(cut()).toEqual(first);
    repository.write("dist/prebuilds/darwin-x64/sampler.node", "built again, other bytes\n");
    repository.script("prebuilds", "write");
    const second = repository.script("cut");
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/^release: v1\.2\.0 exists and holds [0-9a-f]{10}, not/);
    expect(repository.tags()).toEqual({ "v1.2.0": first.commit });
  });

  it("a dry run of a release pushes nothing", () => {
    repository.prepare("1.2.0");
    assembled();
    expect(cut("--dry-run").tag).toBe("v1.2.0");
    expect(repository.tags()).toEqual({});
  });

  it.each([
    [
      "another file changed",
      () => repository.write("action.yml", "name: other\n"),
      /only dist\/prebuilds may change.*action\.yml/s,
    ],
    [
      "a prebuild is not the recorded one",
      () => appendFileSync(path.join(repository.directory, "dist/prebuilds/linux-x64/launcher"), "x"),
      /linux-x64\/launcher is not the file whose sum/,
    ],
    [
      "a prebuild has no sum",
      () => repository.write("dist/prebuilds/linux-x64/extra", "x"),
      /linux-x64\/extra has no recorded sum/,
    ],
    [
      "a prebuild is gone",
      () => rmSync(path.join(repository.directory, "dist/prebuilds/linux-arm64/sampler.node")),
      /linux-arm64\/sampler\.node is missing/,
    ],
    [
      "the lock file has another version",
      () => {
        const file = path.join(repository.directory, "package-lock.json");
        repository.write("package-lock.json", readFileSync(file, "utf8").replaceAll('"1.2.0"', '"1.1.9"'));
        repository.publish("forgotten");
      },
      /package-lock\.json has version "1\.1\.9", package\.json has "1\.2\.0"/,
    ],
    [
      "the changelog has no section",
      () => {
        repository.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n- all of it\n");
        repository.publish("forgotten");
      },
      /no section "## 1\.2\.0"/,
    ],
    [
      "the commit is not on the main branch",
      () => {
        repository.write("a", "b");
        repository.commit("not pushed");
      },
      /is not on origin\/main/,
    ],
  ])("a release is not cut when %s", (_what, spoil, message) => {
    repository.prepare("1.2.0");
    assembled();
    spoil();
    const { code, stderr } = repository.script("cut");
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain("    at ");
    expect(repository.tags()).toEqual({});
  });

  it("a release is not cut below a published version of its line", () => {
    repository.prepare("1.2.1");
    assembled();
    cut();
    repository.prepare("1.2.0");
    const { code, stderr } = repository.script("version");
    expect([code, stderr]).toEqual([1, "release: v1.2.1 is released already, and newer than 1.2.0\n"]);
  });
});

describe("the notes of a release", () => {
  it("the notes of a release are its section of the changelog verbatim", () => {
    repository.prepare("1.2.0", "### Added\n- A feature.\n\n```\n## 9.9.9\n```\n\n### Fixed\n- Another.\n");
    const { stdout } = repository.script("notes", "v1.2.0");
    expect(stdout).toBe("### Added\n- A feature.\n\n```\n## 9.9.9\n```\n\n### Fixed\n- Another.\n");
  });

  it("the notes of a release are refused when their section is empty or duplicated", () => {
    repository.prepare("1.2.0", "### Added\n\n### Fixed\n");
    expect(repository.script("notes", "1.2.0").stderr).toContain("says nothing");
    repository.prepare("1.2.0", "- a\n\n## 1.2.0\n\n- b\n");
    expect(repository.script("notes", "1.2.0").stderr).toContain("has 2 sections");
    expect(repository.script("notes", "1.2").stderr).toContain("no section");
  });
});

describe("the moving tags", () => {
  /** A release, and its tags moved. */
  const release = (version: string): string => {
    repository.prepare(version);
    assembled();
    const { commit } = cut();
    const moved = repository.script("moving-tags", `v${version}`);
    expect(moved.code, moved.stderr).toBe(0);
    return commit as string;
  };

  it("moving tags point to the newest release of their line and never move back", () => {
    const first = release("1.2.0");
    expect(repository.tags()).toEqual({ "v1.2.0": first, v1: first, "v1.2": first });
    const next = release("1.3.0");
    expect(repository.tags()).toMatchObject({ v1: next, "v1.3": next, "v1.2": first });
    const patch = release("1.2.1");
    expect(repository.tags()).toMatchObject({ v1: next, "v1.3": next, "v1.2": patch });
    const major = release("2.0.0");
    expect(repository.tags()).toMatchObject({ v1: next, v2: major, "v2.0": major });
    // A second run moves nothing.
    expect(repository.script("moving-tags", "v1.2.0").stdout).toBe("no tag moves for v1.2.0\n");
    expect(repository.tags()).toMatchObject({ v1: next, "v1.2": patch });
  });

  it("moving tags compare versions as numbers", () => {
    release("1.9.0");
    const ten = release("1.10.0");
    expect(repository.tags().v1).toBe(ten);
  });

  it("moving tags point to releases only, and a dry run moves nothing", () => {
    repository.prepare("1.2.0");
    expect(repository.script("moving-tags", "v1.2.0").stderr).toContain("v1.2.0 is not on origin");
    expect(repository.script("moving-tags", "v1").stderr).toContain('"v1" is not a tag of a release');
    assembled();
    cut();
    expect(repository.script("moving-tags", "v1.2.0", "--dry-run").stdout).toBe("v1 and v1.2 now lead to v1.2.0\n");
    expect(Object.keys(repository.tags())).toEqual(["v1.2.0"]);
  });
});

describe("the package of a release", () => {
  it("the package of a release is complete, records its commit and leaves no file", () => {
    whole();
    repository.prepare("1.2.0");
    assembled();
    const { commit } = cut();
    const packed = repository.script("package", "--commit", commit as string, "--into", "build/release");
    expect(packed.code, packed.stderr).toBe(0);
    const tarball = path.join(repository.directory, outputsOf(packed.stdout).tarball as string);
    expect(path.basename(tarball)).toBe("stormlog-gate-1.2.0.tgz");
    const names = ran("tar", ["-tzf", tarball], { cwd: repository.directory }).stdout.split("\n").filter(Boolean);
    expect(names).toContain("package/dist/prebuilds/darwin-arm64/sampler.node");
    expect(names.filter((name) => /^package\/(?:src|test|scripts|native|build)\//.test(name))).toEqual([]);
    const stamp = ran("tar", ["-xzOf", tarball, "package/dist/release.json"], { cwd: repository.directory }).stdout;
    expect(JSON.parse(stamp)).toEqual({ version: "1.2.0", commit });
    expect(repository.git("status", "--porcelain", "dist/release.json")).toBe("");
    expect(existsSync(path.join(repository.directory, "dist/release.json"))).toBe(false);
  });

  it("the package of a release is refused with a missing or an extra file", () => {
    whole();
    const commit = repository.prepare("1.2.0");
    rmSync(path.join(repository.directory, "dist/licenses.txt"));
    repository.write("dist/main.js.map", "{}");
    const { code, stderr } = repository.script("package", "--commit", commit, "--into", "build/release");
    expect(code).toBe(1);
    expect(stderr).toContain("dist/licenses.txt is missing");
    expect(stderr).toContain("dist/main.js.map does not belong there");
    expect(repository.script("package", "--commit", "main").stderr).toContain('"main" is not a commit');
  });
});

describe("the prebuilds that are committed", () => {
  it("committed prebuilds match their recorded sums on every platform", () => {
    const { code, stdout } = repository.script("prebuilds", "check", "linux-x64", "linux-arm64");
    expect([code, stdout]).toEqual([0, "the prebuilds are what was recorded: linux-x64, linux-arm64\n"]);
    expect(repository.script("prebuilds", "check", "darwin-x64").stderr).toContain(
      "darwin-x64/sampler.node is missing",
    );
  });

  it("committed prebuilds get their executable mode back", () => {
    const launcher = path.join(repository.directory, "dist/prebuilds/linux-x64/launcher");
    chmodSync(launcher, 0o644);
    repository.script("prebuilds", "write");
    expect(statSync(launcher).mode & 0o111).toBe(0o111);
  });
});

describe("the release workflow, step by step, without publishing", () => {
  it("the release workflow cuts, lists, packs, drafts, uploads, publishes and moves tags in this order", () => {
    whole();
    repository.prepare("1.2.0");
    const tools = mkdtempSync(path.join(tmpdir(), "stormlog-programs-"));
    // What the first job leaves: it has the packages, and this one has not.
    const bundled = path.join(tools, "bundled.json");
    const listed = ran(process.execPath, ["scripts/release/bundled.mjs", "--into", bundled], { cwd: packageRoot() });
    expect(listed.code, listed.stderr).toBe(0);
    mkdirSync(path.join(repository.directory, "build"), { recursive: true });
    // The release does not exist at first, and is a draft later.
    const calls = recordingProgram(tools, "gh", `case "$*" in *--jq*) echo true ;; "release view"*) exit 1 ;; esac`);
    const values: Record<string, string> = {};
    const outputs = path.join(tools, "outputs");
    /** The runner's value of an expression. */
    const expand = (text: string): string =>
      text.replace(/\$\{\{ (.+?) \}\}/g, (_all, expression: string) => {
        if (expression === "github.token") return "a-token";
        const name = /^(?:steps\.\w+|needs\.release)\.outputs\.(\w+)$/.exec(expression)?.[1];
        const value = name === undefined ? undefined : values[name];
        if (value === undefined) throw new Error(`nothing is known of ${expression}`);
        return value;
      });
    try {
      for (const job of ["release", "tags"]) {
        for (const step of WORKFLOW.jobs[job]?.steps ?? []) {
          if (step.uses?.startsWith("actions/download-artifact@")) {
            if (step.with?.name === "bundled-packages")
              copyFileSync(bundled, path.join(repository.directory, "build/bundled.json"));
            else for (const name of MACOS) repository.addPrebuild(name);
          }
          if (step.run === undefined) continue;
          const env = Object.fromEntries(Object.entries(step.env ?? {}).map(([name, text]) => [name, expand(text)]));
          const ended = ran("bash", ["-e", "-o", "pipefail", "-c", step.run], {
            cwd: repository.directory,
            env: {
              ...env,
              PATH: `${tools}:${process.env.PATH}`,
              GITHUB_OUTPUT: outputs,
              GITHUB_REPOSITORY: "stormlog/gate",
            },
          });
          expect(ended.code, `${step.name}: ${ended.stdout}${ended.stderr}`).toBe(0);
          if (existsSync(outputs)) Object.assign(values, outputsOf(readFileSync(outputs, "utf8")));
        }
      }
      const said = readFileSync(calls, "utf8").trim().split("\n");
      const sums = readFileSync(path.join(repository.directory, "dist/prebuilds/SHA256SUMS"), "utf8").trim();
      expect(said.filter((line) => line.startsWith("gh attestation verify"))).toHaveLength(sums.split("\n").length);
      expect(said.slice(-5).map((line) => line.split(" ").slice(0, 4).join(" "))).toEqual([
        "gh release view v1.2.0",
        "gh release create v1.2.0",
        "gh release view v1.2.0",
        "gh release upload v1.2.0",
        "gh release edit v1.2.0",
      ]);
      expect(said.at(-4)).toContain("--draft --verify-tag");
      expect(said.at(-1)).toContain("--draft=false");
      expect(said.at(-2)).toContain("dist/prebuilds/SHA256SUMS build/release/sbom.cdx.json");
      const bill = JSON.parse(readFileSync(path.join(repository.directory, "build/release/sbom.cdx.json"), "utf8"));
      expect(bill.metadata.component).toMatchObject({ name: "stormlog-gate", version: "1.2.0" });
      expect(JSON.stringify(bill.metadata)).toContain(values.commit);
      expect(bill.components.map(({ name }: { name: string }) => name)).toContain(
        "dist/prebuilds/darwin-arm64/sampler.node",
      );
      // Each file of the release commit's dist/ has its digest, those that were just added, too.
      const digests = readFileSync(path.join(repository.directory, "build/dist.sha256"), "utf8");
      expect(digests).toMatch(/^[0-9a-f]{64} {2}dist\/action\/main\.js$/m);
      expect(digests).toMatch(/^[0-9a-f]{64} {2}dist\/prebuilds\/darwin-x64\/sampler\.node$/m);
      expect(readFileSync(path.join(repository.directory, "build/release/notes.md"), "utf8")).toBe(
        "### Fixed\n- A leak.\n",
      );
      expect(repository.tags()).toEqual({ "v1.2.0": values.commit, v1: values.commit, "v1.2": values.commit });
    } finally {
      rmSync(tools, { recursive: true, force: true });
    }
  });

  it("the release workflow publishes by identity, with that permission in one job", () => {
    const publish = WORKFLOW.jobs.npm?.steps.find((step) => step.run?.startsWith("npm publish"));
    expect(publish?.run).toContain("--provenance");
    expect(publish?.env).toBeUndefined();
    expect(WORKFLOW.jobs.npm?.permissions).toEqual({ "id-token": "write" });
    const writers = Object.entries(WORKFLOW.jobs).filter(([, job]) => job.permissions.contents === "write");
    expect(writers.map(([name]) => name)).toEqual(["release", "tags"]);
    // The moving tags come last, so that they never point to a version that npm does not have.
    expect(WORKFLOW.jobs.tags?.needs).toEqual(["release", "npm"]);
  });
});
