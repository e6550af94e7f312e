import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BundleGuard, WatchedFiles } from "./watched-files.ts";

let root: string;
const at = (name: string): string => path.join(root, name);
const RECORD = "baselines/train/0.json";

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "stormlog-watched-"));
  mkdirSync(at("baselines/train"), { recursive: true });
  writeFileSync(at(RECORD), "{}");
  writeFileSync(at("stormlog-gate.yml"), "scenarios:");
});
afterEach(() => {
  chmodSync(at("."), 0o755);
  rmSync(root, { recursive: true, force: true });
});

const watch = (): WatchedFiles =>
  new WatchedFiles({
    root,
    files: [at("stormlog-gate.yml"), at("stormlog-anchors.json")],
    directories: [at("baselines")],
  });

describe("the files that the gate has read", () => {
  it("watched files are not reported when nothing was done to them, or only their times changed", () => {
    const watched = watch();
    utimesSync(at(RECORD), 1, 1);
    writeFileSync(at(RECORD), "{}");
    writeFileSync(at("baselines/train/0.json.lock"), "");
    expect(watched.changes()).toEqual([]);
  });

  it.each<[string, () => void, string]>([
    ["written to", () => appendFileSync(at(RECORD), " "), "was rewritten"],
    [
      "written to in its old length, with its old time",
      () => {
        const { atime, mtime } = lstatSync(at(RECORD));
        writeFileSync(at(RECORD), "[]");
        utimesSync(at(RECORD), atime, mtime);
      },
      "was rewritten",
    ],
    [
      "replaced by a rename",
      () => {
        writeFileSync(at("new"), "[]");
        renameSync(at("new"), at(RECORD));
      },
      "was rewritten",
    ],
    [
      "replaced by a pipe",
      () => {
        rmSync(at(RECORD));
        execFileSync("mkfifo", [at(RECORD)]);
      },
      "was rewritten",
    ],
    [
      "replaced by a directory",
      () => {
        rmSync(at(RECORD));
        mkdirSync(at(RECORD));
      },
      "was rewritten",
    ],
    [
      "replaced by a link to an endless file",
      () => {
        rmSync(at(RECORD));
        symlinkSync("/dev/zero", at(RECORD));
      },
      "was rewritten",
    ],
    [
      "behind a link that replaced its directory",
      () => {
        renameSync(at("baselines"), at("old"));
        mkdirSync(at("evil/train"), { recursive: true });
        writeFileSync(at("evil/train/0.json"), "[]");
        symlinkSync("evil", at("baselines"));
      },
      "was rewritten",
    ],
    ["removed", () => rmSync(at(RECORD)), "was removed"],
    ["removed with its directory", () => rmSync(at("baselines"), { recursive: true }), "was removed"],
  ])("a watched file is named when it is %s", (_, act, deed) => {
    const watched = watch();
    act();
    expect(watched.changes()).toEqual([`${RECORD} ${deed} during the run; the copy read before the run was used.`]);
  });

  it.skipIf(process.getuid?.() === 0)("a watched file is named when it becomes unreadable", () => {
    const watched = watch();
    chmodSync(at("baselines"), 0);
    const changes = watched.changes();
    chmodSync(at("baselines"), 0o755);
    expect(changes).toEqual([`${RECORD} was made unreadable during the run; the copy read before the run was used.`]);
  });

  it("watched files are counted where several are changed alike, and added ones are named", () => {
    writeFileSync(at("baselines/train/1.json"), "{}");
    const watched = watch();
    for (const name of ["0.json", "1.json"]) writeFileSync(at(`baselines/train/${name}`), "[]");
    writeFileSync(at("stormlog-gate.yml"), "");
    writeFileSync(at("stormlog-anchors.json"), "{}");
    expect(watched.changes()).toEqual([
      `${RECORD} and 2 more files were rewritten during the run; the copies read before the run were used.`,
      "stormlog-anchors.json was added during the run; it was not used.",
    ]);
  });

  it("watched files are listed in bounded time where the command left very many", () => {
    const watched = watch();
    mkdirSync(at("baselines/many"));
    for (let i = 0; i < 12_000; i += 1) symlinkSync("x", at(`baselines/many/${i}.json`));
    let deep = at("baselines/deep");
    for (let i = 0; i < 100; i += 1) deep = path.join(deep, "d");
    mkdirSync(deep, { recursive: true });
    expect(watched.changes()).toEqual([]);
  });
});

describe("the bundle's directory", () => {
  beforeEach(() => mkdirSync(at("bundle")));

  it("the bundle's directory is not reported when nothing was done to it", () => {
    const guard = new BundleGuard(at("bundle"));
    mkdirSync(at("bundle/runs/train/1"), { recursive: true });
    guard.restore();
    expect(guard.changes()).toEqual([]);
  });

  it.each<[string, () => void, string]>([
    ["removed", () => {}, "removed"],
    ["replaced by a file", () => writeFileSync(at("bundle"), ""), "replaced"],
    ["replaced by a link", () => symlinkSync(root, at("bundle")), "replaced"],
    ["replaced by a broken link", () => symlinkSync("nowhere", at("bundle")), "replaced"],
    ["replaced by a pipe", () => execFileSync("mkfifo", [at("bundle")]), "replaced"],
    ["replaced by another directory", () => mkdirSync(at("bundle")), "replaced"],
  ])("the bundle's directory can be written to again when it was %s", (_, act, deed) => {
    const guard = new BundleGuard(at("bundle"));
    renameSync(at("bundle"), at("old"));
    act();
    guard.restore();
    expect(lstatSync(at("bundle")).isDirectory()).toBe(true);
    expect(guard.changes()).toEqual([
      `The bundle's directory was ${deed} during the run; files of earlier runs may be missing.`,
    ]);
  });

  it("the bundle's directory loses reports that the gate has not written, and keeps what a link among them names", () => {
    const guard = new BundleGuard(at("bundle"));
    writeFileSync(at("secret"), "kept");
    symlinkSync(at("secret"), at("bundle/report.json"));
    mkdirSync(at("bundle/summary.md/x"), { recursive: true });
    expect(guard.changes()).toEqual([
      "report.json, summary.md appeared in the bundle during the run and was replaced.",
    ]);
    expect(readdirSync(at("bundle"))).toEqual([]);
    expect([existsSync(at("secret")), readFileSync(at("secret"), "utf8")]).toEqual([true, "kept"]);
  });
});
