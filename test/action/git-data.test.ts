import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MAX_STORED_BYTES } from "../../src/baseline/store.ts";
import { readRecordsAt } from "../../src/github/repository/file-at.ts";
import { type GitData, openGitData } from "../../src/github/repository/git-data-client.ts";
import { unpacedClient } from "./testing/client.ts";
import { GitDataDouble } from "./testing/double/git-data.ts";
import { GitHubDouble } from "./testing/github-double.ts";

const REF = "refs/stormlog/baselines";
const REPOSITORY = { owner: "octo", repo: "model" };
let github: GitHubDouble;
let repository: GitDataDouble;

const text = (value: string): Uint8Array => Buffer.from(value);
const write = (data: GitData, files: Readonly<Record<string, Uint8Array | null>>): Promise<string | null> =>
  data.commit(REF, "test", async () => new Map(Object.entries(files)));

beforeEach(async () => {
  github = new GitHubDouble();
  repository = new GitDataDouble();
  github.use(repository.routes);
  github.graphQl = (query, variables) => repository.updateRefs(query, variables);
  await github.start();
  github.tokens.set("job", { login: "github-actions[bot]", write: true });
  github.tokens.set("readonly", { login: "github-actions[bot]", write: false });
});

afterEach(async () => {
  await github.stop();
  repository.git("fsck", "--strict");
  repository.dispose();
  expect(github.faults).toEqual([]);
});

describe("files on a hidden ref", () => {
  it("files on a hidden ref are commits of real git and are read back byte for byte", async () => {
    const data = openGitData(unpacedClient(github), REPOSITORY);
    expect(await data.snapshot(REF)).toBeNull();
    const binary = Uint8Array.from({ length: 300 }, (_, index) => index % 256);
    const first = await write(data, { "a/one.json": text("{}\n"), "two.png": binary });
    const second = await write(data, { "a/three.json": text("ß\r\n"), "a/one.json": null });
    const snapshot = await data.snapshot(REF);
    expect(snapshot?.commit).toBe(second);
    expect(repository.git("rev-parse", `${REF}^`)).toBe(first);
    const contents = await Promise.all(
      (snapshot?.files ?? []).map(async ({ path, sha }) => [path, await data.blob(sha)]),
    );
    expect(Object.fromEntries(contents)).toEqual({
      "a/three.json": Buffer.from("ß\r\n"),
      "two.png": Buffer.from(binary),
    });
  });

  it("writing unchanged files, or none, makes no commit", async () => {
    const data = openGitData(unpacedClient(github), REPOSITORY);
    const first = await write(data, { "a.txt": text("same") });
    expect(await write(data, { "a.txt": text("same"), "never.txt": null })).toBe(first);
    expect(await data.commit(REF, "nothing", async () => null)).toBeNull();
    expect(repository.git("rev-list", "--count", REF)).toBe("1");
  });

  it("hidden refs are listed by prefix and deleted, twice without an error", async () => {
    const data = openGitData(unpacedClient(github), REPOSITORY);
    const commit = await write(data, { x: text("x") });
    repository.git("update-ref", "refs/heads/main", commit ?? "");
    expect(await data.refs("refs/stormlog/")).toEqual([{ ref: REF, commit }]);
    expect(await data.refs("refs/stormlog/b")).toHaveLength(1);
    expect(await data.refs("refs/stormlog/x")).toEqual([]);
    await data.deleteRef(REF);
    await data.deleteRef(REF);
    expect(await data.snapshot(REF)).toBeNull();
  });

  it("a commit keeps what another writer committed in the meantime", async () => {
    const data = openGitData(unpacedClient(github), REPOSITORY);
    await write(data, { "a.txt": text("1") });
    const seen: (string | undefined)[] = [];
    const other = openGitData(unpacedClient(github), REPOSITORY);
    await data.commit(REF, "mine", async (current) => {
      seen.push(current?.commit);
      if (seen.length === 1) await write(other, { "b.txt": text("theirs") });
      return new Map([["c.txt", text("mine")]]);
    });
    expect(new Set(seen).size).toBe(2);
    expect(repository.git("ls-tree", "--name-only", REF).split("\n")).toEqual(["a.txt", "b.txt", "c.txt"]);
  });

  it("a commit is given up at once when a repository rule or the token's rights refuse it", async () => {
    const data = openGitData(unpacedClient(github), REPOSITORY);
    await write(data, { "a.txt": text("1") });
    github.failure = ({ method }) =>
      method === "PATCH" ? { kind: "status", status: 422, message: "Repository rule violations found" } : null;
    await expect(write(data, { "a.txt": text("2") })).rejects.toMatchObject({ status: 422 });
    expect(github.requests.filter(({ method }) => method === "PATCH")).toHaveLength(1);
    github.failure = () => null;
    const reader = openGitData(unpacedClient(github, "readonly"), REPOSITORY);
    await expect(write(reader, { "a.txt": text("2") })).rejects.toMatchObject({ status: 403 });
  });

  it("a commit is given up when other writers are faster for the whole time budget", async () => {
    const data = openGitData(unpacedClient(github), REPOSITORY, { budgetMs: 1000 });
    await write(data, { "a.txt": text("1") });
    github.failure = ({ method }) =>
      method === "PATCH" ? { kind: "status", status: 422, message: "Update is not a fast forward" } : null;
    await expect(write(data, { "a.txt": text("2") })).rejects.toMatchObject({ code: "BASELINE_STORE_BUSY" });
    expect(github.requests.filter(({ method }) => method === "PATCH")).not.toEqual([]);
  });

  it("a truncated listing and wrong bytes are errors", async () => {
    const data = openGitData(unpacedClient(github), REPOSITORY);
    await write(data, { "a.txt": text("1") });
    const tree = { sha: "1", url: "https://x.test", tree: [], truncated: true };
    github.failure = ({ path }) =>
      path.includes("/git/trees/")
        ? { kind: "text", text: JSON.stringify(tree) }
        : path.includes("/git/blobs/")
          ? { kind: "text", text: JSON.stringify({ content: "eA==", encoding: "base64", sha: "1", size: 1 }) }
          : null;
    await expect(data.snapshot(REF)).rejects.toMatchObject({ code: "GIT_TREE_TRUNCATED" });
    await expect(data.blob("a".repeat(40))).rejects.toMatchObject({ code: "GIT_OBJECT_DAMAGED" });
  });
});

describe("records of a commit that the clone does not have", () => {
  const read = (commit: string, directory = "baselines") =>
    readRecordsAt(unpacedClient(github), REPOSITORY, commit, directory);

  it("lists the JSON files below the directory with their text, and names one that is too large", async () => {
    const commit = await write(openGitData(unpacedClient(github), REPOSITORY), {
      "baselines/train/0.json": text('{"ß":1}\n'),
      "baselines/large.json": Buffer.alloc(MAX_STORED_BYTES + 1, 32),
      "baselines/notes.md": text("no record"),
      "baselines-old/1.json": text("{}"),
    });
    const records = await read(commit ?? "");
    expect(new Map(records.map(({ name, text: content }) => [name, content]))).toEqual(
      new Map([
        ["train/0.json", '{"ß":1}\n'],
        ["large.json", null],
      ]),
    );
    expect(await read(commit ?? "", "elsewhere")).toEqual([]);
  });

  it("reading baselines of an unknown commit is an error, not an empty list", async () => {
    await expect(read("b".repeat(40))).rejects.toThrow(/baselines of the base commit/);
  });
});
