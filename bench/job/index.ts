/**
 * What the gate adds to a job: a clean pull request from the start of its step to the end, under the project's doubles
 * of GitHub, by part. The measured command's own time is left out. Usage: npm run bench:job [-- --json] [--publish]
 * [--rounds N] [--dist DIR]. Exits 1 when a limit is missed.
 */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { packageRoot } from "../../src/core/package-root.ts";
import { actionNode, azuriteBlobScript } from "../../test/action/testing/tools.ts";
import type { Figure, Result } from "../shared/figures.ts";
import { medianInterval } from "../shared/intervals.ts";
import { conclude, PUBLISH_OPTIONS } from "../shared/publish.ts";
import { BenchRepository, now } from "./repository.ts";

const LIMIT_SECONDS = 5;
const LIMIT_DOWNLOAD_MB = 30;

const { values } = parseArgs({
  options: {
    ...PUBLISH_OPTIONS,
    rounds: { type: "string", default: "5" },
    dist: { type: "string", default: path.join(packageRoot(), "dist") },
  },
});

/** Seconds of each part of one job. */
type Parts = Readonly<Record<string, number>>;

async function oneJob(repository: BenchRepository): Promise<Parts> {
  repository.push();
  const began = now();
  await repository.step();
  const ended = now();
  const times = readFileSync(repository.timesFile, "utf8")
    .trim()
    .split("\n")
    .map((line) => Number(line) / 1e6);
  const [start = Number.NaN, end = Number.NaN] = times;
  if (times.length !== 2) throw new Error(`the command ran ${times.length / 2} times: the pull request is not clean`);
  const { artifacts, pictures, api } = repository.traffic();
  const from = artifacts[0] ?? Number.NaN;
  // The picture and the comment follow the uploads; after them the sections are listed once more.
  const uploads = { from, to: Math.max(...artifacts.filter((at) => at < Math.min(...pictures))) };
  const lastPicture = Math.max(uploads.to, ...pictures);
  const lastCall = Math.max(lastPicture, ...api);
  const seconds = (from: number, to: number): number => (to - from) / 1e3;
  return {
    "until the command starts": seconds(began, start),
    "verdict and files": seconds(end, uploads.from),
    "upload of evidence and section": seconds(uploads.from, uploads.to),
    "picture on its ref": seconds(uploads.to, lastPicture),
    comment: seconds(lastPicture, lastCall),
    "end of the step": seconds(lastCall, ended),
    whole: seconds(began, ended) - seconds(start, end),
  };
}

/** Megabytes of the archive that a runner downloads for an action: the whole repository at one commit. */
function download(): Figure {
  const archive = execFileSync("sh", ["-c", "git archive --format=tar.gz HEAD | wc -c"], { cwd: packageRoot() });
  const value = Number(archive) / 1e6;
  return { name: "download of the Action", value, interval: null, limit: LIMIT_DOWNLOAD_MB, unit: "MB" };
}

const azurite = azuriteBlobScript();
const results: Result[] = [download()];
if (azurite === null) {
  results.push({ name: "the job", skipped: "no blob service: STORMLOG_TEST_INSTALL=1 allows to install it" });
} else {
  const repository = new BenchRepository(path.resolve(values.dist), actionNode());
  try {
    await repository.start(azurite);
    const jobs: Parts[] = [];
    for (let round = 0; round < Number(values.rounds); round++) jobs.push(await oneJob(repository));
    if (repository.faults.length > 0) throw new Error(repository.faults.join("; "));
    for (const name of Object.keys(jobs[0] ?? {})) {
      const { median, ...interval } = medianInterval(jobs.map((job) => job[name]!));
      const whole = name === "whole";
      const title = whole ? "a clean pull request, without the command's own time" : `of it: ${name}`;
      results.push({ name: title, value: median, interval, limit: whole ? LIMIT_SECONDS : null, unit: "s" });
    }
  } finally {
    await repository.stop();
  }
}
const title = `What the gate adds to a job, ${values.rounds} jobs`;
process.exitCode = conclude({ bench: "job", title, results }, values);
