import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { CHECKOUT } from "../../src/cli/init/workflows.ts";
import { packageRoot } from "../../src/core/package-root.ts";
import { actionlintFindings, zizmorFindings } from "./testing/lint.ts";
import { Repository } from "./testing/repository.ts";
import { HOW, workflowTool } from "./testing/tools.ts";

const root = packageRoot();
const WORKFLOWS = ".github/workflows";
const workflows = readdirSync(path.join(root, WORKFLOWS)).map((name) => `${WORKFLOWS}/${name}`);
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");
/** The Action and its parts. */
const actions = ["action.yml", ...["report", "merge", "refresh", "accept"].map((name) => `${name}/action.yml`)];

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly concurrency?: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

describe("the project's own workflows", () => {
  it.skipIf(workflowTool("actionlint") === null)(`the project's workflows pass actionlint (${HOW})`, () => {
    expect(actionlintFindings(root, workflows)).toEqual([]);
  });

  it.skipIf(workflowTool("zizmor") === null)(
    `the project's workflows, actions and Dependabot settings pass zizmor at its strictest (${HOW})`,
    () => {
      expect(zizmorFindings(root, [...workflows, ...actions, ".github/dependabot.yml"])).toEqual([]);
    },
  );

  it("actionlint and zizmor find planted problems", () => {
    const repository = new Repository();
    try {
      const bad = [
        "on: pull_request_target",
        "jobs:",
        "  a:",
        "    runs-on: ubuntu-24.04",
        "    steps:",
        "      - uses: actions/checkout@v7",
        `      - run: echo $${"{{ github.event.pull_request.title }}"}`,
        "",
      ].join("\n");
      repository.write(`${WORKFLOWS}/bad.yml`, bad);
      if (workflowTool("actionlint") !== null)
        expect(actionlintFindings(repository.directory, [`${WORKFLOWS}/bad.yml`]).join("\n")).toContain("untrusted");
      if (workflowTool("zizmor") !== null) {
        const text = zizmorFindings(repository.directory, [`${WORKFLOWS}/bad.yml`]).join("\n");
        for (const ident of ["template-injection", "dangerous-triggers", "unpinned-uses", "artipacked"]) {
          expect(text).toContain(ident);
        }
      }
    } finally {
      repository.remove();
    }
  });

  it.skipIf(workflowTool("actionlint") === null)("workflows in the documentation pass actionlint", () => {
    const pages = ["README.md", ...readdirSync(path.join(root, "docs")).map((name) => `docs/${name}`)];
    const shown = pages
      .filter((page) => page.endsWith(".md"))
      .flatMap((page) =>
        [...read(page).matchAll(/^```ya?ml\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => ({ page, text })),
      )
      // A fragment is not a workflow.
      .filter(({ text }) => /^on:/m.test(text) && /^jobs:/m.test(text));
    expect(shown.length).toBeGreaterThan(1);
    const repository = new Repository();
    try {
      const files = shown.map(({ page, text }, index) => {
        const file = `${WORKFLOWS}/${index}-${page.replace(/\W+/g, "-")}.yml`;
        repository.write(file, text);
        return file;
      });
      expect(actionlintFindings(repository.directory, files)).toEqual([]);
    } finally {
      repository.remove();
    }
  });

  describe.each(workflows)("%s", (file) => {
    const workflow: Workflow = parse(read(file));
    const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

    it("gives permissions and a time limit to each job, and none to all", () => {
      expect(workflow.permissions).toEqual({});
      for (const [name, job] of Object.entries(workflow.jobs)) {
        expect(typeof job["timeout-minutes"], name).toBe("number");
        if (job.steps.some((step) => step.uses !== undefined)) expect(job.permissions, name).toBeDefined();
      }
      expect(workflow.concurrency).toBeDefined();
    });

    it("pins third-party actions by commit, with the version beside it", () => {
      const used = [...read(file).matchAll(/uses:\s*(\S+)(.*)$/gm)];
      expect(used).toHaveLength(steps.filter((step) => step.uses !== undefined).length);
      for (const [, name = "", comment = ""] of used) {
        if (name.startsWith("./")) continue;
        expect(name).toMatch(/^[\w.-]+\/[\w.-]+(?:\/[\w./-]+)?@[0-9a-f]{40}$/);
        expect(comment).toMatch(/^ # v\d+\.\d+\.\d+$/);
      }
    });

    it("the workflow has no expression in a shell script and no token in a clone", () => {
      for (const step of steps) {
        expect(step.run ?? "").not.toContain("${{");
        if (step.uses?.startsWith("actions/checkout@")) expect(step.with?.["persist-credentials"]).toBe(false);
      }
    });

    it("pins the checkout to the same commit as the files that init writes", () => {
      const checkouts = [...read(file).matchAll(/uses: (actions\/checkout@.*)$/gm)].map(([, name]) => name);
      expect(new Set(checkouts).size).toBeLessThanOrEqual(1);
      for (const name of checkouts) expect(name).toBe(CHECKOUT);
    });
  });
});
