import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAnchors } from "../../src/gate/scenario/anchor.ts";
import { parseState } from "../../src/nightly/state.ts";
import { openPull } from "./testing/double/pull-lookup.ts";
import { NightlyRepository, workload } from "./testing/nightly-repository.ts";

/** Three nightly runs of a main branch: the first baseline, a breach, and an accepted new level. */
describe.skipIf(process.platform !== "linux")("nightly runs of the main branch", () => {
  const here = new NightlyRepository();
  const { github, git, nightly, people } = here;
  let difference = "";

  beforeAll(() => here.start(), 90_000);
  afterAll(async () => {
    await here.stop();
    expect(github.faults).toEqual([]);
  });

  it("the first nightly run begins a usable baseline, a badge and a history", async () => {
    nightly.mayOpenPullRequests = false;
    const first = await here.refresh({ mode: "advisory", "promote-after": "3", anchor: "propose" });
    nightly.mayOpenPullRequests = true;
    expect(first.code, first.log).toBe(0);
    const expected = { verdict: "unjudged", approved: "true", mode: "advisory", "fail-on": "never" };
    expect(first.outputs).toMatchObject(expected);
    expect(here.approvals()).toEqual([[true, true, true, true, true]]);
    expect(JSON.parse(here.onRef("badge.json"))).toEqual({
      schemaVersion: 1,
      label: "memory",
      message: "unjudged (advisory)",
      color: "lightgrey",
    });
    expect(parseState(here.onRef(".nightly/default.json"))).toMatchObject({
      kind: "state",
      state: { nights: [{ scenario: "train", outcome: "seed", runs: 5 }] },
    });
    // The first release anchor is proposed in an issue, because this repository forbids pull requests.
    expect(nightly.issues).toMatchObject([{ state: "open", title: "Set the memory anchor of train" }]);
    expect(first.outputs["anchor-url"]).toContain("/issues/");
    const proposed = git.git("show", "refs/heads/stormlog/anchors-default:stormlog-anchors.json");
    expect(parseAnchors(proposed, "x")[0]?.series.some(([, , metric]) => metric === "host")).toBe(true);
    here.inClone("merge", "--quiet", "--no-edit", "stormlog/anchors-default");
    here.inClone("update-ref", "-d", "refs/heads/stormlog/anchors-default");
    for (const one of nightly.issues) one.state = "closed";
  }, 120_000);

  it("a nightly breach is saved without an acceptance and reported in one issue", async () => {
    const commit = here.change({ "work.cjs": workload(112) }, "hold more");
    const red = await here.refresh();
    expect(red.code, red.log).toBe(4);
    expect(red.outputs).toMatchObject({ verdict: "fail", approved: "false", mode: "blocking" });
    const [runs] = here.approvals();
    expect(runs?.slice(0, 5)).toEqual([true, true, true, true, true]);
    expect(runs?.slice(5).length).toBeGreaterThanOrEqual(2);
    expect(runs?.slice(5)).not.toContain(true);
    // Recorded before it was judged, and confirmed by the commit that the baseline was measured at.
    const [recorded, base] = ["before any verdict", "comparing with the base commit"].map((text) =>
      red.log.indexOf(text),
    );
    expect(recorded).toBeGreaterThan(0);
    expect(base).toBeGreaterThan(recorded as number);
    const report = JSON.parse(readFileSync(path.join(red.outputs["bundle-path"] ?? "", "report.json"), "utf8"));
    difference = /"difference":"([^"]+)"/.exec(JSON.stringify(report))?.[1] ?? "";
    expect(difference).not.toBe("");
    const open = nightly.issues.filter(({ state }) => state === "open");
    expect(open).toMatchObject([{ title: "Memory: train above its limits on the main branch" }]);
    expect(open[0]?.body).toContain("accept: <reason>");
    expect(open[0]?.body).toContain(commit.slice(0, 10));
    expect(red.outputs["issue-url"]).toBe(`https://github.com/octo/model/issues/${open[0]?.number}`);
    // A level without an acceptance moves no anchor.
    expect(nightly.proposals).toEqual([]);
  }, 120_000);

  it("a breach accepted in its pull request opens a new level, closes the issue and proposes to move the anchor", async () => {
    const commit = here.inClone("rev-parse", "HEAD");
    people.roles.set("alice", "write");
    people.main.push(...here.inClone("rev-list", "--reverse", "HEAD").split("\n"));
    people.cameBy.set(commit, [{ number: 12, headSha: commit, merged: true }]);
    openPull(github, { number: 12, headSha: commit, state: "closed" });
    github.addComment(12, "alice", `/stormlog accept ${difference} larger activations on purpose`);
    const accepted = await here.refresh({ mode: "advisory" });
    expect(accepted.code, accepted.log).toBe(0);
    expect(accepted.outputs, accepted.log).toMatchObject({ approved: "true" });
    expect(here.record().epochs.map(({ reason }) => reason)).toEqual([
      "refresh",
      "larger activations on purpose (accepted by alice in #12)",
    ]);
    expect(nightly.issues.map(({ state }) => state)).not.toContain("open");
    expect(nightly.proposals).toMatchObject([
      { state: "open", title: "Move the memory anchor of train", base: "main" },
    ]);
    expect(accepted.outputs["anchor-url"]).toContain("/pull/");
  }, 120_000);
});
