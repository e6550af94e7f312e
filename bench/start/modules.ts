import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ownModules } from "../../scripts/build.mjs";
import type { Figure } from "../shared/figures.ts";

/** Modules of this project that a command may load before it does what it is for. */
const LIMIT_MODULES = 150;

/** The files that a command loaded before its work: before the measured command began, or its first input was read. */
function loadedBefore(log: string): readonly string[] {
  const lines = readFileSync(log, "utf8").trim().split("\n");
  const at = lines.indexOf("WORK");
  return [...new Set(at < 0 ? lines : lines.slice(0, at))];
}

/** How many modules of this project each command loads before its work. */
export async function moduleFigures(node: string, dist: string): Promise<readonly Figure[]> {
  const own = await ownModules();
  const directory = mkdtempSync(path.join(tmpdir(), "gate-modules-bench-"));
  const work = path.join(directory, "work");
  mkdirSync(work);
  const [log, begun] = [path.join(directory, "log"), path.join(directory, "begun")];
  const hook = fileURLToPath(new URL("load-log.mjs", import.meta.url));
  const count = (...args: readonly string[]): Figure => {
    rmSync(log, { force: true });
    rmSync(begun, { force: true });
    const env = { PATH: process.env.PATH, HOME: directory, STORMLOG_LOAD_LOG: log, STORMLOG_WORK: `${work}/in` };
    spawnSync(node, ["--import", hook, path.join(dist, "cli.js"), ...args], { env, cwd: work, stdio: "ignore" });
    // The measured command copies the log when it begins.
    if (existsSync(begun)) copyFileSync(begun, log);
    const files = loadedBefore(log).map((url) => path.relative(path.dirname(dist), fileURLToPath(url)));
    const modules = new Set(files.flatMap((file) => own[file] ?? []));
    if (modules.size === 0) throw new Error(`${args.join(" ")} loaded nothing that was built here`);
    const value = modules.size;
    return {
      name: `modules before the work of ${args[0]}`,
      value,
      interval: null,
      limit: LIMIT_MODULES,
      unit: "modules",
    };
  };
  try {
    const [bundle, recording] = [path.join(work, "in-bundle"), path.join(work, "in-recording")];
    return [
      count("run", "--bundle", bundle, "--", "cp", log, begun),
      count("record", "--output", recording, "--", "cp", log, begun),
      count("judge", "--baseline", path.join(bundle, "measurements.json"), "--candidate", bundle),
      count("show", bundle),
    ];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
