import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { fetchCommit } from "./fetch.ts";
import { freezeRefs, git, gitWarnings, isTreeModified } from "./git.ts";
import { removeStale } from "./repository.ts";

let directory: string;
let top: string;
let release: (() => void) | undefined;

function plain(...args: string[]): string {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"];
  return execFileSync("git", ["-C", top, ...identity, ...args], { encoding: "utf8", stdio: "pipe" }).trim();
}

const hold = async (): Promise<void> => {
  release = await freezeRefs([top], undefined);
};

/** A script that leaves its name when it runs. */
function script(name: string, then = ""): string {
  const file = path.join(directory, name);
  writeFileSync(file, `#!/bin/sh\n: > ${directory}/ran-${name}\n${then}\n`);
  chmodSync(file, 0o755);
  return file;
}

const ran = (): readonly string[] => readdirSync(directory).filter((name) => name.startsWith("ran-"));

/** What each test starts with a copy of. */
let template: string;
beforeAll(() => {
  template = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-git-template-"));
  top = template;
  plain("init", "--quiet", "--initial-branch=main");
  writeFileSync(path.join(top, "a.txt"), "a\n");
  writeFileSync(path.join(top, ".gitattributes"), "*.txt filter=f diff=d\n");
  plain("add", ".");
  plain("commit", "--quiet", "-m", "one");
});
afterAll(() => rmSync(template, { recursive: true, force: true }));
beforeEach(() => {
  directory = realpathSync(mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-git-")));
  top = path.join(directory, "repo");
  cpSync(template, top, { recursive: true, preserveTimestamps: true });
});
afterEach(() => {
  release?.();
  release = undefined;
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

/** Each attack, and a plain git command that falls for it. */
const ATTACKS: Readonly<Record<string, { readonly plant: () => void; readonly victim: readonly string[] }>> = {
  "core.fsmonitor": { plant: () => plain("config", "core.fsmonitor", script("x")), victim: ["status"] },
  "core.fsmonitor through include.path": {
    plant: () => {
      writeFileSync(path.join(directory, "more"), `[core]\nfsmonitor = ${script("x")}\n`);
      plain("config", "include.path", path.join(directory, "more"));
    },
    victim: ["status"],
  },
  "filter.clean of changed files": {
    plant: () => {
      plain("config", "filter.f.clean", script("x", "cat"));
      writeFileSync(path.join(top, "a.txt"), "b\n");
    },
    victim: ["status"],
  },
  "filter.process of changed files": {
    plant: () => {
      plain("config", "filter.f.process", script("x", "exit 1"));
      writeFileSync(path.join(top, "a.txt"), "b\n");
    },
    victim: ["diff"],
  },
  "diff.external": {
    plant: () => {
      plain("config", "diff.external", script("x"));
      writeFileSync(path.join(top, "a.txt"), "b\n");
    },
    victim: ["diff"],
  },
  "a textconv of a diff driver": {
    plant: () => {
      plain("config", "diff.d.textconv", script("x", 'cat "$1"'));
      writeFileSync(path.join(top, "a.txt"), "b\n");
    },
    victim: ["diff"],
  },
  "gpg.program with log.showSignature": {
    plant: () => {
      plain("config", "gpg.program", script("x"));
      plain("config", "log.showSignature", "true");
      const text = plain("cat-file", "commit", "HEAD").replace(
        /\n\n/,
        "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n",
      );
      const options = { cwd: top, input: `${text}\n`, encoding: "utf8" } as const;
      const id = execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin"], options).trim();
      plain("update-ref", "HEAD", id);
    },
    victim: ["log", "-1"],
  },
  "the hook reference-transaction": {
    plant: () => renameSync(script("x"), path.join(top, ".git/hooks/reference-transaction")),
    victim: ["update-ref", "refs/x", "HEAD"],
  },
  "core.hooksPath": {
    plant: () => {
      mkdirSync(path.join(directory, "hooks"));
      renameSync(script("x"), path.join(directory, "hooks/reference-transaction"));
      plain("config", "core.hooksPath", path.join(directory, "hooks"));
    },
    victim: ["update-ref", "refs/x", "HEAD"],
  },
  "an ext:: remote": {
    plant: () => {
      plain("config", "remote.origin.url", `ext::${script("x")}`);
      plain("config", "protocol.ext.allow", "always");
    },
    victim: ["fetch", "origin", "main"],
  },
  "an ext:: address by url.insteadOf": {
    plant: () => {
      plain("config", "remote.origin.url", "https://example.invalid/x");
      plain("config", `url.ext::${script("x")} .insteadOf`, "https://example.invalid/x");
      plain("config", "protocol.ext.allow", "always");
    },
    victim: ["fetch", "origin", "main"],
  },
  "core.sshCommand": {
    plant: () => {
      plain("config", "remote.origin.url", "ssh://example.invalid/x");
      plain("config", "core.sshCommand", script("x"));
    },
    victim: ["fetch", "origin", "main"],
  },
  "remote.uploadpack": {
    plant: () => {
      plain("config", "remote.origin.url", top);
      plain("config", "remote.origin.uploadpack", script("x"));
    },
    victim: ["fetch", "origin", "main"],
  },
  "a lazy fetch of a missing object from a promisor": {
    plant: () => {
      for (const [key, value] of [
        ["core.repositoryformatversion", "1"],
        ["extensions.partialClone", "origin"],
        ["remote.origin.promisor", "true"],
        ["remote.origin.url", top],
        ["remote.origin.uploadpack", script("x")],
      ]) {
        plain("config", key as string, value as string);
      }
    },
    victim: ["cat-file", "-e", "0123456789012345678901234567890123456789"],
  },
  "core.alternateRefsCommand": {
    plant: () => {
      plain("clone", "--quiet", "--bare", top, path.join(directory, "other"));
      plain("commit", "--quiet", "--allow-empty", "-m", "new");
      plain("clone", "--quiet", "--bare", top, path.join(directory, "origin"));
      plain("reset", "--quiet", "--hard", "HEAD~");
      plain("reflog", "expire", "--expire=all", "--all");
      plain("gc", "--quiet", "--prune=now");
      plain("config", "remote.origin.url", path.join(directory, "origin"));
      writeFileSync(path.join(top, ".git/objects/info/alternates"), `${directory}/other/objects\n`);
      plain("config", "core.alternateRefsCommand", script("x"));
    },
    victim: ["fetch", "origin", "main"],
  },
  "a credential helper": {
    plant: () => {
      plain("config", "credential.helper", `!${script("x")}`);
      plain("config", "remote.origin.url", "https://127.0.0.1:1/x");
    },
    victim: ["credential", "fill"],
  },
};

describe("git beside measured code", () => {
  for (const [name, { plant, victim }] of Object.entries(ATTACKS)) {
    it(`does not run what ${name} names, and plain git would`, async () => {
      await hold();
      plant();
      const input = "protocol=https\nhost=example.invalid\n\n";
      const network = victim[0] === "fetch";
      await git(top, victim, { input, network });
      await git(top, victim, { input });
      expect(ran()).toEqual([]);
      spawnSync("git", ["-C", top, ...victim], { input, env: { ...process.env, GIT_TERMINAL_PROMPT: "0" } });
      expect(ran()).toEqual(["ran-x"]);
    });
  }

  it("keeps HEAD, the refs and the cut history that were there before", async () => {
    await hold();
    const before = await git(top, ["log", "--all", "--format=%H %D"]);
    plain("commit", "--quiet", "--allow-empty", "-m", "two");
    plain("branch", "other");
    writeFileSync(path.join(top, ".git/shallow"), `${plain("rev-parse", "HEAD")}\n`);
    expect(await git(top, ["log", "--all", "--format=%H %D"])).toEqual(before);
    expect((await git(top, ["rev-parse", "--is-shallow-repository"])).stdout).toBe("false");
    release?.();
    expect((await git(top, ["rev-parse", "other"])).stdout).toBe(plain("rev-parse", "other"));
  });

  it("reads the objects themselves where refs/replace or a commit-graph name others", async () => {
    await hold();
    const blob = plain("rev-parse", "HEAD:a.txt");
    writeFileSync(path.join(top, "evil"), "evil\n");
    plain("update-ref", `refs/replace/${blob}`, plain("hash-object", "-w", "evil"));
    expect(plain("cat-file", "blob", blob)).toBe("evil");
    expect((await git(top, ["cat-file", "blob", blob])).stdout).toBe("a");
  });

  it.each(["config", "HEAD", "packed-refs", "shallow"])("does not wait for a FIFO as .git/%s", async (name) => {
    await hold();
    const before = (await git(top, ["status", "--porcelain=2", "--branch"])).stdout;
    rmSync(path.join(top, ".git", name), { force: true });
    execFileSync("mkfifo", [path.join(top, ".git", name)]);
    expect((await git(top, ["status", "--porcelain=2", "--branch"])).stdout).toBe(before);
    expect(before).toMatch(/branch\.oid [0-9a-f]{40}/);
  });

  it.each(["HEAD", "refs/heads/main"])("does not read an endless .git/%s", async (name) => {
    await hold();
    rmSync(path.join(top, ".git", name));
    symlinkSync("/dev/zero", path.join(top, ".git", name));
    expect((await git(top, ["rev-parse", "HEAD"])).ok).toBe(true);
  });

  it("keeps the repository when .git is replaced by a file that names another", async () => {
    await hold();
    const commit = plain("rev-parse", "HEAD");
    renameSync(path.join(top, ".git"), path.join(directory, "moved"));
    symlinkSync(path.join(directory, "moved"), path.join(top, ".git"));
    expect((await git(top, ["rev-parse", "HEAD"])).stdout).toBe(commit);
    rmSync(path.join(top, ".git"));
    mkdirSync(path.join(directory, "evil"));
    writeFileSync(path.join(top, ".git"), `gitdir: ${directory}/evil\n`);
    expect((await git(top, ["rev-parse", "--absolute-git-dir"])).stdout).not.toContain("evil");
  });

  it("reads the repository around a directory that looks like a bare one, and runs nothing of its configuration", async () => {
    const evil = path.join(top, "evil");
    for (const name of ["objects/info", "refs/heads"]) mkdirSync(path.join(evil, name), { recursive: true });
    writeFileSync(path.join(evil, "HEAD"), `${"1".repeat(40)}\n`);
    writeFileSync(
      path.join(evil, "config"),
      `[core]\n\trepositoryformatversion = 1\n\tworktree = ..\n\tsshCommand = ${script("x")}\n` +
        `[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\turl = ssh://example.invalid/x\n\tpromisor = true\n`,
    );
    const missing = ["cat-file", "-e", "HEAD^{commit}"];
    for (const network of [false, true]) expect((await git(evil, missing, { network })).ok).toBe(true);
    expect((await git(evil, ["rev-parse", "--show-prefix"])).stdout).toBe("evil/");
    expect(ran()).toEqual([]);
    spawnSync("git", ["-C", evil, ...missing]);
    expect(ran()).toEqual(["ran-x"]);
  });

  it("opens no repository but that of the gate's directory while measured code runs", async () => {
    const inner = path.join(top, "inner");
    plain("init", "--quiet", inner);
    const other = path.join(directory, "other");
    plain("clone", "--quiet", top, other);
    expect((await git(inner, ["rev-parse", "--show-toplevel"])).stdout).toBe(inner);
    await hold();
    expect((await git(inner, ["rev-parse", "--show-toplevel"])).stdout).toBe(top);
    expect(await git(other, ["rev-parse", "HEAD"])).toMatchObject({
      ok: false,
      stderr: expect.stringMatching(/outside the repository/),
    });
    release?.();
    expect((await git(other, ["rev-parse", "--show-toplevel"])).stdout).toBe(other);
  });

  it("fetches nothing by itself in a partial clone, whose ssh it starts on request", async () => {
    for (const [key, value] of [
      ["core.sshCommand", script("ssh")],
      ["remote.origin.url", "ssh://example.invalid/x"],
      ["remote.origin.promisor", "true"],
    ]) {
      plain("config", key as string, value as string);
    }
    const missing = "0123456789012345678901234567890123456789";
    expect((await git(top, ["cat-file", "-e", missing])).ok).toBe(false);
    expect((await git(top, ["log", "-1", missing])).ok).toBe(false);
    expect(ran()).toEqual([]);
    await fetchCommit(top, missing, false);
    expect(ran()).toEqual(["ran-ssh"]);
  });

  it("takes no directory for a remote that is not configured", async () => {
    plain("clone", "--quiet", top, path.join(top, "origin"));
    plain("-C", "origin", "commit", "--quiet", "--allow-empty", "-m", "of the directory");
    const next = plain("-C", "origin", "rev-parse", "HEAD");
    await fetchCommit(top, next, false);
    expect((await git(top, ["cat-file", "-e", next])).ok).toBe(false);
  });

  it("ends at once when the gate is interrupted", async () => {
    const interrupt = new AbortController();
    release = await freezeRefs([top], interrupt.signal);
    rmSync(path.join(top, ".git/index"));
    execFileSync("mkfifo", [path.join(top, ".git/index")]);
    const waiting = git(top, ["status"], { timeoutMs: 600_000 });
    setImmediate(() => interrupt.abort());
    expect((await waiting).ok).toBe(false);
  });

  it("gives git an environment without the job's variables", async () => {
    for (const name of [
      "INPUT_TOKEN",
      "ACTIONS_RUNTIME_TOKEN",
      "GITHUB_TOKEN",
      "GITHUB_ENV",
      "GH_TOKEN",
      "MY_SECRET",
    ]) {
      vi.stubEnv(name, "canary");
    }
    vi.stubEnv("GIT_EXTERNAL_DIFF", script("x"));
    vi.stubEnv("GIT_DIR", "/nowhere");
    vi.stubEnv("GIT_CONFIG_COUNT", "1");
    vi.stubEnv("GIT_CONFIG_KEY_0", "http.extraheader");
    vi.stubEnv("GIT_CONFIG_VALUE_0", "canary");
    const { stdout } = await git(top, ["-c", "alias.x=!env", "x"]);
    expect(stdout).toMatch(/^GIT_DIR=/m);
    expect(stdout).not.toMatch(/canary|nowhere|ran-x/);
  });

  it("leaves nothing in the temporary directory, and removes what killed gates left a day ago", async () => {
    const own = path.join(directory, "tmp");
    vi.stubEnv("TMPDIR", own);
    mkdirSync(path.join(own, "stormlog-gate-index-abcdef"), { recursive: true });
    mkdirSync(path.join(own, "stormlog-gate-git-abcdef"));
    mkdirSync(path.join(own, "stormlog-gate-git-ghijkl"));
    utimesSync(path.join(own, "stormlog-gate-index-abcdef"), 1, 1);
    utimesSync(path.join(own, "stormlog-gate-git-abcdef"), 1, 1);
    removeStale(Date.now());
    expect((await git(top, ["rev-parse", "HEAD"])).ok).toBe(true);
    expect(readdirSync(own)).toEqual(["stormlog-gate-git-ghijkl"]);
  });

  it("counts files of a filter as unmodified, and others by their content", async () => {
    await hold();
    expect(await isTreeModified(top)).toBe(false);
    writeFileSync(path.join(top, "a.txt"), "b\n");
    expect(await isTreeModified(top)).toBe(true);
    release?.();
    plain("config", "filter.f.clean", "cat");
    const own = path.join(directory, "again");
    renameSync(top, own);
    expect(await isTreeModified(own)).toBe(false);
    expect(existsSync(path.join(directory, "ran-x"))).toBe(false);
    expect(readFileSync(path.join(own, "a.txt"), "utf8")).toBe("b\n");
  });

  it("git works with alternates that name themselves and an ending that never comes", async () => {
    await hold();
    writeFileSync(path.join(top, ".git/objects/info/alternates"), `${top}/.git/objects\n../objects\n`);
    expect((await git(top, ["cat-file", "-e", "HEAD"])).ok).toBe(true);
    rmSync(path.join(top, ".git/index"));
    execFileSync("mkfifo", [path.join(top, ".git/index")]);
    const { ok, stderr } = await git(top, ["status"], { timeoutMs: 500 });
    expect([ok, stderr]).toEqual([false, expect.stringMatching(/GIT_TIMEOUT/)]);
    expect(gitWarnings().join()).toMatch(/git status gave no answer within 0\.5 s and was ended \(GIT_TIMEOUT\)/);
  });
});
