import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import type { JudgementDocument } from "../verdict/model/judgement.ts";
import { COMMANDS } from "./commands/commands.ts";
import { PROGRAMS } from "./commands/programs.ts";
import { parseArguments } from "./console/command.ts";

const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-reruns-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A file of runs with a peak of 1 GiB: their session, and their commit where it is known. */
function runs(name: string, given: readonly { readonly session: string; readonly commit?: string }[]): string {
  const file = path.join(directory, name);
  const document = {
    schema: "stormlog.measurements/1",
    scenario: "train",
    runs: given.map((run) => ({ ...run, metrics: { allocated_peak_bytes: 2 ** 30 } })),
  };
  writeFileSync(file, JSON.stringify(document));
  return file;
}

async function judged(baseline: string, candidate: string): Promise<JudgementDocument> {
  const spec = COMMANDS.judge;
  if (spec === undefined) throw new Error("judge is not a command");
  const args = ["--candidate", candidate, "--baseline", baseline];
  let document: unknown = null;
  await (await PROGRAMS.judge())({
    ...parseArguments(spec, args),
    argv: args,
    console: {
      json: true,
      color: false,
      quiet: true,
      width: 100,
      interactive: false,
      print: () => {},
      document: (value) => {
        document = value;
      },
      childOutput: () => () => {},
      progress: null,
    },
  });
  return document as JudgementDocument;
}

it("judge compares with runs of the candidate's session that stand beside an incomplete baseline", async () => {
  const candidate = runs("candidate.json", [{ session: "pr", commit: "change" }]);
  const stored = [{ session: "night-1" }, { session: "night-2" }];
  const asked = await judged(runs("stored.json", stored), candidate);
  expect(asked).toMatchObject({ verdict: "unjudged", final: false, needs_base_runs: 1 });
  for (const rerun of [{ session: "pr" }, { session: "pr", commit: "base" }]) {
    const judgement = await judged(runs("reruns.json", [...stored, rerun]), candidate);
    expect(judgement).toMatchObject({ verdict: "pass", final: true });
    expect(judgement.checks[0]?.reason).toContain("the base commit in this session");
  }
});

it("judge compares with no run of the candidate's commit, and with no baseline of its session alone", async () => {
  const candidate = runs("candidate.json", [{ session: "pr", commit: "change" }]);
  const own = { session: "pr", commit: "change" };
  expect(await judged(candidate, candidate)).toMatchObject({ verdict: "unjudged", needs_base_runs: 1 });
  expect(await judged(runs("own.json", [{ session: "night-1" }, own]), candidate)).toMatchObject({
    verdict: "unjudged",
    needs_base_runs: 1,
  });
  const anonymous = runs("anonymous.json", [{ session: "pr" }]);
  expect(await judged(anonymous, anonymous)).toMatchObject({ verdict: "unjudged", final: true });
});
