import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { sha256 } from "../../../scripts/pack.mjs";
import { ActionFiles, changedWarning } from "./held-files.ts";

const parent = mkdtempSync(path.join(tmpdir(), "stormlog-held-"));
afterAll(() => {
  execFileSync("chmod", ["-R", "u+rwx", parent]);
  rmSync(parent, { recursive: true, force: true });
});

const DIST = {
  "assets/font.ttf": "font",
  "chunks/cli.js": "export {}",
  "cli.js": "cli",
  "shard-worker.js": "worker",
  "probe/inject/sitecustomize.py": "probe",
};
const OTHERS = {
  "package.json": "{}",
  "dist/action/code.js": "pack",
  "dist/action/main.js": "main",
  "dist/prebuilds/p/launcher": "launcher",
  "dist/prebuilds/p/sampler.node": "addon",
};

let count = 0;

function installed(changes: Readonly<Record<string, string>> = {}): { files: ActionFiles; root: string; dist: string } {
  count += 1;
  const root = path.join(parent, String(count));
  const dist = path.join(root, "dist");
  const all = { ...OTHERS, ...Object.fromEntries(Object.entries(DIST).map(([name, text]) => [`dist/${name}`, text])) };
  for (const [name, text] of Object.entries({ ...all, ...changes })) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  chmodSync(path.join(dist, "prebuilds/p/launcher"), 0o755);
  const digests = Object.fromEntries(Object.entries(DIST).map(([name, text]) => [name, sha256(text)]));
  const code = { url: "file:///x", dist, bytes: Buffer.from("pack"), files: digests };
  const temporary = path.join(root, "temp");
  mkdirSync(temporary);
  return { files: new ActionFiles(code, root, path.join(dist, "prebuilds/p"), temporary), root, dist };
}

const contents = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory, { recursive: true, encoding: "utf8" })
      .filter((name) => lstatSync(path.join(directory, name)).isFile())
      .map((name) => [name, readFileSync(path.join(directory, name), "utf8")]),
  );

describe("files that a step holds while it measures", () => {
  /** What a measured program does to the installation, and the names that are then reported, restored or left. */
  const ATTACKS: readonly (readonly [
    string,
    (at: { root: string; dist: string }) => void,
    readonly string[],
    readonly string[],
  ])[] = [
    ["changes nothing", () => {}, [], []],
    [
      "rewrites main.js with as many bytes",
      ({ dist }) => writeFileSync(path.join(dist, "action/main.js"), "evil"),
      ["dist/action/main.js"],
      [],
    ],
    ["deletes the pack", ({ dist }) => rmSync(path.join(dist, "action/code.js")), ["dist/action/code.js"], []],
    [
      "replaces main.js by a FIFO",
      ({ dist }) => {
        rmSync(path.join(dist, "action/main.js"));
        execFileSync("mkfifo", [path.join(dist, "action/main.js")]);
      },
      ["dist/action/main.js"],
      [],
    ],
    [
      "replaces the launcher by a link and the worker by a directory",
      ({ dist }) => {
        rmSync(path.join(dist, "prebuilds/p/launcher"));
        symlinkSync("/bin/true", path.join(dist, "prebuilds/p/launcher"));
        rmSync(path.join(dist, "shard-worker.js"));
        mkdirSync(path.join(dist, "shard-worker.js/x"), { recursive: true });
      },
      ["dist/prebuilds/p/launcher", "dist/shard-worker.js"],
      [],
    ],
    [
      "takes permissions away",
      ({ dist }) => {
        chmodSync(path.join(dist, "action/main.js"), 0);
        chmodSync(path.join(dist, "action"), 0);
      },
      ["dist/action/main.js"],
      [],
    ],
    [
      "replaces the directory by a link to a copy of its own",
      ({ root, dist }) => {
        renameSync(path.join(dist, "action"), path.join(root, "elsewhere"));
        writeFileSync(path.join(root, "elsewhere/main.js"), "evil");
        symlinkSync(path.join(root, "elsewhere"), path.join(dist, "action"));
      },
      ["dist/action/code.js", "dist/action/main.js"],
      [],
    ],
    [
      "adds manifests that decide how Node reads the entries",
      ({ root, dist }) => {
        writeFileSync(path.join(dist, "action/package.json"), '{"type":"commonjs"}');
        symlinkSync("/dev/zero", path.join(dist, "package.json"));
        writeFileSync(path.join(root, "package.json"), '{"exports":"./evil.js"}');
      },
      ["dist/action/package.json", "dist/package.json", "package.json"],
      [],
    ],
    [
      "rewrites the command line",
      ({ dist }) => {
        writeFileSync(path.join(dist, "cli.js"), "evil");
        rmSync(path.join(dist, "chunks/cli.js"));
      },
      [],
      ["dist/chunks/cli.js", "dist/cli.js"],
    ],
  ];

  it.each(ATTACKS)("a program that %s finds its changes undone and named", (_, attack, restored, left) => {
    const { files, root, dist } = installed();
    attack({ root, dist });
    expect(files.restore()).toEqual({ restored, left });
    expect(contents(root)).toMatchObject(OTHERS);
    expect(contents(dist)).toMatchObject({ "shard-worker.js": "worker", "probe/inject/sitecustomize.py": "probe" });
    expect(lstatSync(path.join(dist, "action")).isDirectory()).toBe(true);
    expect(existsSync(path.join(dist, "action/package.json"))).toBe(false);
    expect(statSync(path.join(dist, "prebuilds/p/launcher")).mode & 0o777).toBe(0o755);
    expect(files.restore().restored).toEqual([]);
  });

  it("a program that removes the whole installation finds it as it was, without the command line", () => {
    const { files, root, dist } = installed();
    rmSync(dist, { recursive: true });
    symlinkSync(root, dist);
    const changes = files.restore();
    expect(changes.left).toEqual(["dist/chunks/cli.js", "dist/cli.js"]);
    expect(contents(root)).toMatchObject(OTHERS);
    expect(changedWarning(changes)).toBe(
      "The measured command changed 9 files of this Action (dist/action/code.js, dist/action/main.js, " +
        "dist/assets/font.ttf and 6 more). The gate ran from memory and restored 7. Not restored, so do not run " +
        "them in this job: dist/chunks/cli.js, dist/cli.js.",
    );
  });

  it("a run starts from fresh copies, even if the run before changed its own", () => {
    const { files } = installed();
    const fresh = {
      "native/launcher": "launcher",
      [path.join("probe", "inject", "sitecustomize.py")]: "probe",
    };
    files.renewCopies();
    expect(contents(files.copies)).toEqual(fresh);
    const probe = path.join(files.copies, "probe/inject");
    const tamper: readonly (() => void)[] = [
      () => writeFileSync(path.join(probe, "sitecustomize.py"), "evil"),
      () => writeFileSync(path.join(probe, "torch.py"), "evil"),
      () => chmodSync(probe, 0),
      () => {
        rmSync(files.copies, { recursive: true });
        symlinkSync(parent, files.copies);
      },
      () => {
        rmSync(path.dirname(files.copies), { recursive: true });
        writeFileSync(path.dirname(files.copies), "evil");
      },
      () => chmodSync(path.dirname(files.copies), 0),
    ];
    for (const attack of tamper) {
      attack();
      files.renewCopies();
      expect(contents(files.copies)).toEqual(fresh);
      expect(lstatSync(files.copies).isDirectory()).toBe(true);
    }
    files.dispose();
    expect(existsSync(files.copies)).toBe(false);
  });

  it("an asset is read from memory", () => {
    const { files, dist } = installed();
    rmSync(path.join(dist, "assets"), { recursive: true });
    expect(files.read("assets/font.ttf")?.toString()).toBe("font");
    expect(files.read("assets/other.ttf")).toBeNull();
  });

  it("a file with another digest than the build's is refused, a probe before anything is measured", () => {
    const refused = expect.objectContaining({ code: "CODE_CHANGED", message: expect.stringContaining("built with") });
    expect(() => installed({ "dist/probe/inject/sitecustomize.py": "other" })).toThrow(refused);
    const { files } = installed({ "dist/assets/font.ttf": "other" });
    expect(() => files.read("assets/font.ttf")).toThrow(refused);
  });
});
