import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GitDataDouble } from "../action/testing/double/git-data.ts";
import { NightlyDouble } from "../action/testing/double/issues.ts";
import { GitHubDouble } from "../action/testing/github-double.ts";
import { actionNode } from "../action/testing/tools.ts";
import { type ActOptions, type ActRun, runAct } from "./testing/act.ts";
import { builtAction, pullRequestEvent } from "./testing/built-action.ts";
import { Repository } from "./testing/repository.ts";
import { HOW, workflowTool } from "./testing/tools.ts";
import { zipEntry } from "./testing/zip-entry.ts";

/** The workflows name four services; one of them shows that a workflow works, and the lab's own tests run all. */
const ALL_SERVICES = ["python_cache", "python_callbacks", "node_cache", "node_listeners"];
const SERVICES = process.env.STORMLOG_TEST_LAB === undefined ? ["python_cache"] : ALL_SERVICES;
const BRANCH = "stormlog/baselines-lab-services";
const PATTERN = "leak-lab/patterns/python_cache.py";
const MEASURED_MS = 420_000;
const REPOSITORY = { full_name: "octo/model", default_branch: "main", fork: false };

/** The leg of the services needs no framework and is otherwise like the leg of PyTorch. */
describe.skipIf(workflowTool("act") === null || !existsSync("/usr/bin/python3"))(
  `the leak lab's own workflows under act (${HOW})`,
  () => {
    const github = new GitHubDouble();
    const node = actionNode();
    /** Replaces the action that uploads the evidence of a surprise, because act has no network here. */
    const upload = new Repository();
    let repository: Repository;
    let git: GitDataDouble;
    let nightly: NightlyDouble;

    const run = (
      options: Pick<ActOptions, "workflow" | "job" | "event" | "eventName" | "arguments">,
    ): Promise<ActRun> =>
      runAct({ cwd: repository.directory, nodeDirectory: path.dirname(node), apiUrl: github.url, ...options });

    beforeAll(async () => {
      repository = await builtAction();
      for (const name of ["baselines.yml", "gate.yml"]) {
        const file = `.github/workflows/${name}`;
        const text = readFileSync(path.join(repository.directory, file), "utf8");
        expect(text).toContain(ALL_SERVICES.join(", "));
        const listed = text.replace(ALL_SERVICES.join(", "), SERVICES.join(", "));
        repository.write(file, listed.replace(ALL_SERVICES.join(" "), SERVICES.join(" ")));
      }
      repository.commit("the services of this test");
      git = new GitDataDouble(path.join(repository.directory, ".git"));
      git.delayMs = 1;
      nightly = new NightlyDouble(git);
      github.use(git.routes);
      nightly.use(github);
      await github.start();
      github.tokens.set("job", { login: "github-actions[bot]", write: true });
      upload.write("action.yml", "name: upload\nruns:\n  using: composite\n  steps: []\n");
      upload.commit("an action");
    }, 60_000);

    afterAll(async () => {
      await github.stop();
      git.dispose();
      repository.remove();
      upload.remove();
    });

    it(
      "the nightly workflow proposes the records of every pattern in a pull request",
      async () => {
        const { code, log } = await run({
          workflow: ".github/workflows/baselines.yml",
          job: "refresh",
          eventName: "schedule",
          event: { repository: REPOSITORY, ref: "refs/heads/main" },
          arguments: ["--matrix", "workload:lab-services"],
        });
        expect(code, log).toBe(0);
        expect(nightly.proposals, log).toMatchObject([
          { state: "open", head: BRANCH, title: "Memory baselines of the main branch (lab-services)" },
        ]);
        const names = repository.git("ls-tree", "-r", "--name-only", BRANCH).split("\n");
        for (const name of SERVICES)
          expect(names.filter((one) => one.startsWith(`baselines/${name}/`), log)).toHaveLength(1);
        repository.git("checkout", "--quiet", "--", ".");
        repository.git("clean", "--quiet", "--force", "-d", "baselines");
        repository.git("merge", "--quiet", "--no-edit", BRANCH);
        repository.git("update-ref", "refs/remotes/origin/main", "HEAD");
      },
      MEASURED_MS,
    );

    it(
      "a round by these records finds every leak and no fixed state",
      async () => {
        const { code, log } = await run({
          workflow: ".github/workflows/baselines.yml",
          job: "rounds",
          eventName: "workflow_dispatch",
          event: { repository: REPOSITORY, ref: "refs/heads/main", inputs: { rounds: "1" } },
          arguments: [
            ...["--matrix", "leg:services", "--use-new-action-cache"],
            ...["--local-repository", `actions/upload-artifact@${uploadPin()}=${upload.directory}`],
          ],
        });
        expect(code, log).toBe(0);
        const { length } = SERVICES;
        const caught = `${length} of ${length} leaks caught, 0 false alarms in ${length} fixed states`;
        expect(log).toContain(`1 round: ${caught}, 0 surprises.`);
        expect(log).not.toContain("become the baseline");
      },
      MEASURED_MS,
    );

    it(
      "the lab's gate passes an unrelated change and fails one that lets a fixed state grow",
      async () => {
        const base = repository.git("rev-parse", "HEAD");
        const push = (message: string): Promise<ActRun> =>
          run({
            workflow: ".github/workflows/gate.yml",
            job: "gate",
            event: pullRequestEvent(7, base, repository.commit(message)),
            arguments: ["--matrix", "workload:lab-services"],
          });
        repository.git("checkout", "--quiet", "-b", "change");
        repository.write("NOTES.md", "a change\n");
        const green = await push("a change");
        expect(green.code, green.log).toBe(0);
        const report = JSON.parse(
          zipEntry(green.artifacts.get("stormlog-default-lab-services") as Buffer, "report.json"),
        );
        expect(report.payload.verdict).toBe("pass");

        const text = readFileSync(path.join(repository.directory, PATTERN), "utf8");
        const grown = text.replace("maxsize=8", "maxsize=None").replace("render(number % 8)", "render(number)");
        expect(grown).not.toBe(text);
        repository.write(PATTERN, grown);
        const red = await push("a cache without a bound");
        expect(red.code, red.log).toBe(1);
        expect(red.log).toContain("verdict fail, class leak");
        expect(red.log).toMatch(/::error title=python_cache[^\n]*file=leak-lab\/patterns\/python_cache\.py/);
      },
      MEASURED_MS,
    );
  },
);

/** The commit that the workflow pins the action by. */
function uploadPin(): string {
  const text = readFileSync(path.join(import.meta.dirname, "../../.github/workflows/baselines.yml"), "utf8");
  return /actions\/upload-artifact@([0-9a-f]{40})/.exec(text)?.[1] ?? "";
}
