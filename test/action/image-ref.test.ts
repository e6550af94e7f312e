import { getOctokit } from "@actions/github";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tidyImages } from "../../src/actions/refresh/refresh.ts";
import type { SubAction } from "../../src/actions/sub-action.ts";
import type { Octokit } from "../../src/github/api/octokit.ts";
import { runContext } from "../../src/github/api/run-context.ts";
import { expireImages, imagePath, imageRef, publishImages } from "../../src/github/comment/image-ref.ts";
import { type GitData, openGitData } from "../../src/github/repository/git-data-client.ts";
import { GitDataDouble } from "./testing/double/git-data.ts";
import { GitHubDouble } from "./testing/github-double.ts";

const PLACE = { owner: "octo", repo: "model" };
const SERVER = { serverUrl: "https://github.test", ...PLACE };
const NOW = new Date();
let github: GitHubDouble;
let repository: GitDataDouble;
let octokit: Octokit;
let gitData: GitData;

const png = (fill: number): Uint8Array => Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0, fill, 255]);

beforeEach(async () => {
  github = new GitHubDouble();
  repository = new GitDataDouble();
  repository.delayMs = 0;
  github.use(repository.routes);
  await github.start();
  github.tokens.set("job", { login: "github-actions[bot]", write: true });
  octokit = getOctokit("job", { baseUrl: github.url });
  gitData = openGitData(octokit, PLACE);
});

afterEach(async () => {
  await github.stop();
  repository.dispose();
  expect(github.faults).toEqual([]);
});

describe("pictures of a pull request", () => {
  it("pictures are addressed at the commit that has exactly these bytes", async () => {
    const images = [
      { key: "default", light: png(1), dark: png(11) },
      { key: "default/py3.12, cuda 12", light: png(2), dark: png(12) },
    ];
    const addresses = await publishImages(gitData, SERVER, { pullRequest: 7, images });
    const tip = repository.git("rev-parse", imageRef(7));
    expect(Object.fromEntries(addresses)).toEqual({
      default: {
        light: `https://github.test/octo/model/blob/${tip}/default.png?raw=true`,
        dark: `https://github.test/octo/model/blob/${tip}/default~dark.png?raw=true`,
      },
      "default/py3.12, cuda 12": {
        light: expect.stringMatching(
          new RegExp(`/octo/model/blob/${tip}/default/py3\\.12-cuda-12-[0-9a-f]{8}\\.png\\?raw=true$`),
        ),
        dark: expect.stringMatching(/-[0-9a-f]{8}~dark\.png\?raw=true$/),
      },
    });
    const snapshot = await gitData.snapshot(imageRef(7));
    const held = await Promise.all((snapshot?.files ?? []).map(({ sha }) => gitData.blob(sha)));
    expect(held.map((content) => [...content]).sort()).toEqual([1, 11, 12, 2].map((fill) => [...png(fill)]).sort());
  });

  it("pictures of other legs stay, and an unchanged picture makes no commit", async () => {
    const publish = (key: string, fill: number) =>
      publishImages(gitData, SERVER, { pullRequest: 7, images: [{ key, light: png(fill), dark: png(fill + 1) }] });
    await publish("gate/a", 1);
    const first = await publish("gate/b", 2);
    expect(await publish("gate/b", 2)).toEqual(first);
    expect(repository.git("ls-tree", "-r", "--name-only", imageRef(7)).split("\n")).toEqual([
      "gate/a.png",
      "gate/a~dark.png",
      "gate/b.png",
      "gate/b~dark.png",
    ]);
    expect(repository.git("rev-list", "--count", imageRef(7))).toBe("2");
  });

  it("pictures of legs that publish at once are all kept", async () => {
    const keys = Array.from({ length: 8 }, (_, n) => `gate/leg-${n}`);
    await Promise.all(
      keys.map((key, n) =>
        publishImages(openGitData(octokit, PLACE), SERVER, {
          pullRequest: 7,
          images: [{ key, light: png(n), dark: png(n) }],
        }),
      ),
    );
    expect(repository.git("ls-tree", "-r", "--name-only", imageRef(7)).split("\n").sort()).toEqual(
      keys.flatMap((key) => [imagePath(key, "light"), imagePath(key, "dark")]),
    );
  });

  it.each([
    ["../../x", /^-\/-\/x-[0-9a-f]{8}\.png$/],
    ["a//b", /^a\/-\/b-[0-9a-f]{8}\.png$/],
    [".git/config", /^git\/config-[0-9a-f]{8}\.png$/],
    ["a b\n`c`", /^a-b-c--[0-9a-f]{8}\.png$/],
  ])("pictures of the key %j lie at a valid path", (key, path) => {
    expect(imagePath(key)).toMatch(path);
  });
});

describe("old pictures", () => {
  it("old pictures and those of closed pull requests are removed, even when one removal fails", async () => {
    for (const pullRequest of [1, 2, 3, 4]) {
      await publishImages(gitData, SERVER, {
        pullRequest,
        images: [{ key: "default", light: png(pullRequest), dark: png(9) }],
      });
    }
    for (const number of [1, 2, 4]) github.heads.set(number, "a".repeat(40));
    github.pulls.all.set(1, { headSha: "a".repeat(40), overrides: { state: "closed" } });
    github.failure = ({ method, path }) =>
      method === "GET" && path.endsWith("/pulls/4") ? { kind: "status", status: 500 } : null;
    const first = await expireImages({ octokit, gitData, repository: PLACE });
    expect(first.deleted).toEqual([imageRef(1), imageRef(3)]);
    expect(first.failed).toMatchObject([{ ref: imageRef(4) }]);
    const later = new Date(NOW.getTime() + 31 * 86_400_000);
    expect((await expireImages({ octokit, gitData, repository: PLACE, now: later })).deleted).toEqual([imageRef(2)]);
  });
});

describe("the nightly refresh", () => {
  const lines: string[] = [];
  const night = (): SubAction => ({
    input: () => undefined,
    env: {},
    context: { ...runContext({}), ...PLACE },
    octokit,
    signal: new AbortController().signal,
    log: (line) => lines.push(`log: ${line}`),
    warn: (line) => lines.push(`warn: ${line}`),
    setOutput: () => {},
  });

  it("the nightly refresh removes pictures of closed pull requests, or names the missing permission once", async () => {
    for (const pullRequest of [1, 2]) {
      await publishImages(gitData, SERVER, { pullRequest, images: [{ key: "default", light: png(1), dark: png(2) }] });
    }
    github.failure = ({ method }) => (method === "DELETE" ? { kind: "status", status: 403, message: "no" } : null);
    await tidyImages(night(), gitData);
    github.failure = () => null;
    await tidyImages(night(), gitData);
    await tidyImages(night(), gitData);
    expect(lines).toEqual([
      expect.stringMatching(/^warn: Could not remove old pictures: .*contents: write/),
      "log: Removed the pictures of 2 closed or inactive pull requests",
    ]);
  });
});
