import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { deflateSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fetchMissing } from "../../git/fetch.ts";
import { freezeRefs, git as gateGit } from "../../git/git.ts";
import { checkOut } from "./base-checkout.ts";

let directory: string;
let top: string;
let tree: string;
let release: (() => void) | undefined;

function gitIn(cwd: string, ...args: string[]): string {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
  return execFileSync("git", ["-C", cwd, ...identity, ...args], { encoding: "utf8", stdio: "pipe" }).trim();
}
const git = (...args: string[]): string => gitIn(top, ...args);

const hold = async (): Promise<void> => {
  release = await freezeRefs([top], undefined);
};

function commit(files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(top, name)), { recursive: true });
    writeFileSync(path.join(top, name), text);
  }
  git("add", "--all");
  git("commit", "--quiet", "-m", "x");
  return git("rev-parse", "HEAD");
}

function script(name: string): string {
  const file = path.join(directory, name);
  writeFileSync(file, `#!/bin/sh\n: > ${directory}/ran-${path.basename(name)}\ncat\n`);
  chmodSync(file, 0o755);
  return file;
}

/** Replace a loose object by one with other content. */
function rewrite(id: string, type: string, content: Buffer): void {
  const file = path.join(top, ".git/objects", id.slice(0, 2), id.slice(2));
  chmodSync(file, 0o644);
  writeFileSync(file, deflateSync(Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])));
}

beforeEach(() => {
  directory = realpathSync(mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-checkout-")));
  top = path.join(directory, "repo");
  tree = path.join(directory, "base", "tree");
  mkdirSync(top);
  git("init", "--quiet", "--initial-branch=main");
});
afterEach(() => {
  release?.();
  release = undefined;
  rmSync(directory, { recursive: true, force: true });
});

describe("a checkout of the base", () => {
  it("a checkout of the base is a clean repository of its own, with tags, modes and links", async () => {
    const base = commit({ "sub/a.sh": "a\n", ".gitattributes": "*.sh text eol=crlf\n" });
    chmodSync(path.join(top, "sub/a.sh"), 0o755);
    execFileSync("ln", ["-s", "sub/a.sh", path.join(top, "link")]);
    const next = commit({});
    git("tag", "v1");
    git("tag", "v0", base);
    commit({ "sub/a.sh": "changed\n" });
    await hold();
    await checkOut(top, next, tree);
    expect(readFileSync(path.join(tree, "link"), "utf8")).toBe("a\r\n");
    expect(statSync(path.join(tree, "sub/a.sh")).mode & 0o111).toBe(0o111);
    expect(gitIn(tree, "describe", "--tags", "--dirty")).toBe("v1");
    expect(gitIn(tree, "status", "--porcelain")).toBe("");
    gitIn(tree, "tag", "of-the-base");
    expect([git("tag"), git("worktree", "list").split("\n").length]).toEqual(["v0\nv1", 1]);
  });

  it("runs no hook and no filter that was left in the clone", async () => {
    const base = commit({ "a.txt": "a\n", ".gitattributes": "a.txt filter=f\n" });
    await hold();
    mkdirSync(path.join(top, ".git/hooks"), { recursive: true });
    for (const name of ["post-checkout", "post-index-change", "reference-transaction"])
      script(`repo/.git/hooks/${name}`);
    git("config", "filter.f.smudge", script("smudge"));
    git("config", "filter.g.process", script("process"));
    writeFileSync(path.join(top, ".git/info/attributes"), "* filter=g\n");
    await checkOut(top, base, tree);
    expect(readdirSync(directory).filter((name) => name.startsWith("ran-"))).toEqual([]);
    git("worktree", "add", "--detach", path.join(directory, "plain"), base);
    expect(readdirSync(directory).filter((name) => name.startsWith("ran-"))).not.toEqual([]);
  });

  it.each(["a.txt", "deep/b.txt", "deep/deeper/c.txt"])(
    "a checkout of the base is refused where the object of %s was rewritten",
    async (name) => {
      const base = commit({ "a.txt": "a\n", "deep/b.txt": "b\n", "deep/deeper/c.txt": "c\n" });
      const id = git("rev-parse", `HEAD:${name}`);
      await hold();
      rewrite(id, "blob", Buffer.from("leak()\n"));
      expect(git("cat-file", "blob", id)).toBe("leak()");
      await expect(checkOut(top, base, tree)).rejects.toThrow(`object ${id.slice(0, 12)} was changed`);
    },
  );

  it("a checkout of the base is refused where a tree or the commit was rewritten", async () => {
    const base = commit({ "a.txt": "a\n", "b.txt": "b\n" });
    const [mine, other] = [git("rev-parse", "HEAD:a.txt"), git("rev-parse", "HEAD:b.txt")];
    const root = git("rev-parse", "HEAD^{tree}");
    const objects = { cwd: top, encoding: "latin1", maxBuffer: 1e6 } as const;
    const content = Buffer.from(execFileSync("git", ["cat-file", "tree", root], objects), "latin1");
    const text = execFileSync("git", ["cat-file", "commit", base], objects);
    await hold();
    const swapped = content
      .toString("latin1")
      .replace(Buffer.from(mine, "hex").toString("latin1"), Buffer.from(other, "hex").toString("latin1"));
    rewrite(root, "tree", Buffer.from(swapped, "latin1"));
    await expect(checkOut(top, base, tree)).rejects.toThrow(/changed|mismatch/);
    rmSync(tree, { recursive: true });
    rewrite(root, "tree", content);
    rewrite(base, "commit", Buffer.from(`${text}more\n`, "latin1"));
    await expect(checkOut(top, base, tree)).rejects.toThrow(/changed|mismatch/);
  });

  it("a checkout of the base is refused where its files pass through a program of the job's configuration", async () => {
    const base = commit({ "a.txt": "a\n", "sub/.gitattributes": "*.key filter=git-crypt\n" });
    git("config", "filter.git-crypt.smudge", script("smudge"));
    await hold();
    await expect(checkOut(top, base, tree)).rejects.toThrow(/pass through the filter "git-crypt"/);
  });

  it.each(["blob:none", "tree:0"])(
    "fetchMissing gets what a partial clone (%s) lacks from the remote of before, and from no other",
    async (filter) => {
      const base = commit({ "a.txt": "old\n", "deep/b.txt": "b\n" });
      commit({ "a.txt": "new\n" });
      git("config", "uploadpack.allowFilter", "true");
      git("config", "uploadpack.allowAnySHA1InWant", "true");
      const origin = top;
      top = path.join(directory, "clone");
      gitIn(
        directory,
        "-c",
        "protocol.file.allow=always",
        "clone",
        "--quiet",
        `--filter=${filter}`,
        `file://${origin}`,
        top,
      );
      await hold();
      git("config", "remote.origin.url", `ext::${script("evil")}`);
      git("config", "protocol.ext.allow", "always");
      await fetchMissing(top, base, "deep");
      const file = ["cat-file", "blob", `${base}:a.txt`];
      expect((await gateGit(top, file)).ok).toBe(false);
      await fetchMissing(top, base, "a.txt");
      expect((await gateGit(top, file)).stdout).toBe("old");
      await checkOut(top, base, tree);
      expect(readFileSync(path.join(tree, "a.txt"), "utf8")).toBe("old\n");
      expect(existsSync(path.join(directory, "ran-evil"))).toBe(false);
    },
  );

  it("accepts a filter that changes files only when they are committed", async () => {
    const base = commit({ "a.ipynb": "a\n", ".gitattributes": "*.ipynb filter=nbstripout\n" });
    git("config", "filter.nbstripout.clean", "nbstripout");
    git("config", "filter.nbstripout.smudge", "cat");
    await hold();
    await checkOut(top, base, tree);
    expect(readFileSync(path.join(tree, "a.ipynb"), "utf8")).toBe("a\n");
  });
});

describe("files of git LFS in a checkout of the base", () => {
  const content = "weights".repeat(1000);
  const sha256 = createHash("sha256").update(content).digest("hex");
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256}\nsize ${content.length}\n`;
  let base: string;
  let object: string;

  beforeEach(async () => {
    base = commit({ "w.bin": pointer, "doc.md": pointer, ".gitattributes": "*.bin filter=lfs diff=lfs -text\n" });
    const at = path.join(top, ".git/lfs/objects", sha256.slice(0, 2), sha256.slice(2, 4));
    mkdirSync(at, { recursive: true });
    object = path.join(at, sha256);
    writeFileSync(object, content);
    writeFileSync(path.join(top, "w.bin"), content);
    git("config", "filter.lfs.process", script("git-lfs"));
    await hold();
  });

  it("files of git LFS have the content that the clone holds", async () => {
    await checkOut(top, base, tree);
    expect(readFileSync(path.join(tree, "w.bin"), "utf8")).toBe(content);
    expect(readFileSync(path.join(tree, "doc.md"), "utf8")).toBe(pointer);
    expect(gitIn(tree, "status", "--porcelain")).toBe("");
    expect(existsSync(path.join(directory, "ran-git-lfs"))).toBe(false);
  });

  it("files of git LFS are refused where their content is another or absent", async () => {
    const refused = /lacks the content of 1 of its files in git LFS \(git lfs fetch gets them\)/;
    writeFileSync(object, content.replace("weights", "WEIGHTS"));
    await expect(checkOut(top, base, tree)).rejects.toThrow(refused);
    rmSync(object);
    rmSync(tree, { recursive: true });
    await expect(checkOut(top, base, tree)).rejects.toThrow(refused);
  });

  it("files of git LFS stay pointers where the measured job has pointers", async () => {
    rmSync(object);
    writeFileSync(path.join(top, "w.bin"), pointer);
    await checkOut(top, base, tree);
    expect(readFileSync(path.join(tree, "w.bin"), "utf8")).toBe(pointer);
  });
});
