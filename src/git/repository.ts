import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { codeOf } from "../core/errors.ts";
import { type ChildResult, helperEnvironment, helperPrograms } from "../core/process/child.ts";

/** Values of git's configuration by key, in their order. */
type Settings = ReadonlyMap<string, readonly string[]>;

/** A repository as it was opened. What is written into its configuration afterwards does not count. */
export interface Repository {
  /** Top of the work tree. */
  readonly top: string;
  readonly gitDirectory: string;
  /** Directory of objects and refs; another one in a linked work tree. */
  readonly common: string;
  readonly isSubmodule: boolean;
  readonly settings: Settings;
}

/** What names commits. Frozen while measured code runs. */
export interface Names {
  readonly head: string;
  readonly shallow: string | null;
  /** Lines of `packed-refs`; null for the refs as they are in the repository. */
  readonly refs: string | null;
}

/** Settings that decide how files and objects are stored. None of them names a program. */
const STORAGE =
  /^(?:core\.(?:filemode|symlinks|ignorecase|precomposeunicode|autocrlf|eol|checkstat|trustctime)|extensions\.(?:objectformat|compatobjectformat|refstorage))$/;
const PROMISOR = /^(?:extensions\.partialclone|remote\.[^\n]+\.(?:promisor|partialclonefilter))$/;
/** What reaching a remote needs. `core.sshcommand` is the job's, read before measured code ran. */
const NETWORK =
  /^(?:remote\.[^\n]+\.url|url\.[^\n]+\.insteadof|core\.sshcommand|http\.(?:[^\n]+\.)?(?:extraheader|proxy|sslcainfo|sslcapath|sslverify))$/;
/** Variables that reach a remote through a proxy, or by an agent. */
const NETWORK_VARIABLE =
  /^(?:(?:https?|all|no)_proxy|SSL_CERT_FILE|SSL_CERT_DIR|CURL_CA_BUNDLE|GIT_SSL_CAINFO|SSH_AUTH_SOCK)$/i;

/** Variables of git that decide where its configuration is and which repositories it trusts. */
const TRUST_VARIABLE = /^(?:HOME|XDG_CONFIG_HOME|SUDO_UID|GIT_CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM))$/;

const MAY_LACK = { throwIfNoEntry: false } as const;

/** Protocols of a fetch. A remote helper such as `ext::` would be a program of the configuration. */
const PROTOCOLS = "https:http:ssh:git:file";

/** Whether this is a partial clone, which lacks objects. */
export const isPartial = ({ settings }: Repository): boolean => [...settings.keys()].some((key) => PROMISOR.test(key));

/** Reaching a remote: the variables for it, and an `ssh` whose configuration the change cannot have written. */
function networkEnvironment({ settings }: Repository): Record<string, string> {
  const ssh = settings.get("core.sshcommand")?.at(-1) ?? "ssh";
  return {
    ...pick((name) => NETWORK_VARIABLE.test(name)),
    ...(helperPrograms().strict
      ? { GIT_SSH_COMMAND: `${ssh} -F /dev/null -o BatchMode=yes`, GIT_SSH_VARIANT: "ssh" }
      : {}),
    GIT_ALLOW_PROTOCOL: PROTOCOLS,
  };
}

const pick = (matches: (name: string) => boolean): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && matches(name) ? [[name, value]] : [],
    ),
  );

type Setting = readonly [key: string, value: string];

/** Settings as variables, which count before those of every file. Git 2.31 and later read them. */
function settingVariables(settings: readonly Setting[]): Record<string, string> {
  const pairs = settings.map(([key, value], at) => ({
    [`GIT_CONFIG_KEY_${at}`]: key,
    [`GIT_CONFIG_VALUE_${at}`]: value,
  }));
  return Object.assign({ GIT_CONFIG_COUNT: String(settings.length) }, ...pairs);
}

/** `safe.directory` of the job's environment, without the other settings that stand there. */
function trustedDirectories(): Record<string, string> {
  const count = Number(process.env.GIT_CONFIG_COUNT ?? "0");
  const indices = [...Array(Math.min(Number.isInteger(count) ? count : 0, 1000)).keys()];
  const trusted = indices.filter((at) => process.env[`GIT_CONFIG_KEY_${at}`]?.toLowerCase() === "safe.directory");
  return settingVariables(trusted.map((at) => ["safe.directory", process.env[`GIT_CONFIG_VALUE_${at}`] ?? ""]));
}

/** Environment of the two commands that open a repository: they read configuration, and start nothing from it. */
function openingEnvironment(): Record<string, string> {
  return {
    ...helperEnvironment(),
    ...pick((name) => TRUST_VARIABLE.test(name)),
    ...trustedDirectories(),
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TRACE2: "0",
    GIT_TRACE2_EVENT: "0",
    GIT_TRACE2_PERF: "0",
  };
}

export const NO_REPOSITORY = "not a git repository";

/** What is known of a directory's repository; a string is why it has none that can be used. */
export type Opened = Repository | string;

/** Open the repository of a work tree, with git's own check of who owns it, and read its configuration. */
export async function openRepository(
  tree: string,
  run: (args: readonly string[], env: Readonly<Record<string, string>>) => Promise<ChildResult>,
): Promise<Opened> {
  const env = openingEnvironment();
  const settings = ["safe.bareRepository=explicit", "core.fsmonitor=false", "core.hooksPath=/dev/null"];
  const quiet = ["-C", tree, ...settings.flatMap((setting) => ["-c", setting])];
  const [found, listed] = await Promise.all([
    run([...quiet, "rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"], env),
    run([...quiet, "config", "--null", "--list"], env),
  ]);
  const [gitDirectory, common, top] = found.stdout.split("\n");
  if (gitDirectory === undefined || common === undefined || top === undefined || !path.isAbsolute(top)) {
    return failure(found) ?? NO_REPOSITORY;
  }
  if (listed.end.kind !== "exit" || listed.end.code !== 0)
    return failure(listed) ?? "its configuration is not readable";
  const values = new Map<string, string[]>();
  for (const entry of listed.stdout.split("\0").filter((one) => one !== "")) {
    const at = entry.indexOf("\n");
    const [key, value] = at < 0 ? [entry, "true"] : [entry.slice(0, at), entry.slice(at + 1)];
    values.set(key, [...(values.get(key) ?? []), value]);
  }
  return {
    top,
    gitDirectory,
    common: path.resolve(tree, common),
    // Asking git would open the repository around it.
    isSubmodule: /\/\.git\/(?:.*\/)?modules\//.test(gitDirectory),
    settings: values,
  };
}

/** Why a command failed, in one line; null when it printed nothing. */
export function failure({ end, stderr }: ChildResult): string | null {
  if (end.kind === "not-started") return `git cannot be started: ${end.reason}`;
  if (end.kind === "killed" && end.cause === "timeout") return "GIT_TIMEOUT: git gave no answer";
  if (end.kind === "killed" && end.cause === "output") return "git printed more than 64 MiB";
  return stderr.trim() || null;
}

/**
 * The innermost directory around another one that has a `.git`, and what changes when another repository stands there
 * or its configuration is written. Git would also take a directory that looks like a bare repository, with the programs
 * of its configuration, and a change can commit one.
 */
export function findWorkTree(cwd: string): { readonly tree: string; readonly signature: string } | null {
  try {
    for (let tree = realpathSync(cwd); ; tree = path.dirname(tree)) {
      const entry = lstatSync(path.join(tree, ".git"), MAY_LACK);
      if (entry !== undefined) {
        const config = statSync(path.join(tree, ".git", "config"), MAY_LACK);
        const file = entry.isFile() ? entry.mtimeMs : "";
        return { tree, signature: [tree, entry.ino, file, config?.ino, config?.mtimeMs, config?.size].join(":") };
      }
      if (tree === path.dirname(tree)) return null;
    }
  } catch {
    return null;
  }
}

/** `HEAD` and the cut history are a few kilobytes. */
const MAX_SMALL = 4 * 2 ** 20;

/** A small regular file, which is neither waited for nor followed elsewhere; null when there is none. */
export function readSmall(file: string): string | null {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return null;
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > MAX_SMALL) throw new Error(`${file} is not a small regular file`);
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

/** Read what names commits, as it is now. @throws Error when it is not readable as a regular file */
export function readNames({ gitDirectory, common }: Repository): Names {
  const file = path.join(gitDirectory, "HEAD");
  const isLink = lstatSync(file).isSymbolicLink();
  // Old repositories have a link to the branch.
  const target = isLink ? readlinkSync(file) : "";
  if (isLink && !target.startsWith("refs/")) throw new Error(`${file} is not a small regular file`);
  const head = isLink ? `ref: ${target}\n` : (readSmall(file) ?? "");
  return { head, shallow: readSmall(path.join(common, "shallow")), refs: null };
}

const quoted = (text: string): string =>
  `"${text.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n").replace(/\t/g, "\\t")}"`;

function configText(entries: readonly Setting[]): string {
  const lines = entries.flatMap(([key, value]) => {
    const [first, last] = [key.indexOf("."), key.lastIndexOf(".")];
    const section =
      first === last ? key.slice(0, first) : `${key.slice(0, first)} ${quoted(key.slice(first + 1, last))}`;
    return [`[${section}]`, `\t${key.slice(last + 1)} = ${quoted(value)}`];
  });
  return `${lines.join("\n")}\n`;
}

/** Against each program that any file of configuration could name, and threads, which `run` may forbid. */
const NO_PROGRAMS: readonly Setting[] = [
  ["core.fsmonitor", "false"],
  ["core.hookspath", "/dev/null"],
  ["core.alternaterefscommand", "true"],
  ["credential.helper", ""],
  ["core.preloadindex", "false"],
  ["index.threads", "1"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
];

/**
 * Configuration that starts no program, but for a fetch the `ssh` of the job.
 * @param ownRefs whether refs are files of the private repository
 */
export function safeConfig({ settings }: Repository, network: boolean, ownRefs: boolean): string {
  const known = [...settings].flatMap(([key, values]) => values.map((value) => [key, value] as const));
  const matches = (key: string): boolean =>
    (STORAGE.test(key) && !(ownRefs && key === "extensions.refstorage")) ||
    (network && (PROMISOR.test(key) || NETWORK.test(key)));
  const version = [...settings.keys()].some((key) => key.startsWith("extensions.")) ? "1" : "0";
  return configText([
    ["core.repositoryformatversion", version],
    ["core.bare", "false"],
    ["core.logallrefupdates", "false"],
    ["core.commitgraph", "false"],
    ...NO_PROGRAMS,
    ...known.filter(([key]) => matches(key)),
  ]);
}

const REFS = ["refs", "packed-refs", "reftable"];

function temporaryDirectory(): string {
  try {
    return mkdtempSync(path.join(tmpdir(), "stormlog-gate-git-"));
  } catch (error) {
    if (process.platform !== "linux") throw error;
    return mkdtempSync("/dev/shm/stormlog-gate-git-");
  }
}

/** A directory and a set of variables that make git read a repository's objects and refs, and nothing else of it. */
export interface Access {
  readonly env: Readonly<Record<string, string>>;
  readonly dispose: () => void;
}

/**
 * Make a repository for one command: its own configuration and names, with the objects of the real one. It
 * exists for the time of the command alone, so that measured code finds nothing to change in it.
 * @param workTree a checkout of its own, whose index is in its `.git`
 */
export function accessTo(repository: Repository, names: Names, network: boolean, workTree?: string): Access {
  const { top, gitDirectory, common } = repository;
  const directory = temporaryDirectory();
  const at = (...names: readonly string[]): string => path.join(directory, ...names);
  const dispose = (): void => rmSync(directory, { recursive: true, force: true });
  try {
    writeFileSync(at("HEAD"), names.head);
    writeFileSync(at("config"), safeConfig(repository, network, names.refs !== null), { mode: 0o600 });
    if (names.shallow !== null) writeFileSync(at("shallow"), names.shallow);
    if (names.refs !== null) {
      mkdirSync(at("refs"));
      writeFileSync(at("packed-refs"), names.refs);
    }
    for (const name of names.refs === null ? ["objects", ...REFS] : ["objects"]) {
      if (lstatSync(path.join(common, name), MAY_LACK)) symlinkSync(path.join(common, name), at(name));
    }
    for (const name of readdirSync(gitDirectory).filter((one) => one.startsWith("sharedindex."))) {
      symlinkSync(path.join(gitDirectory, name), at(name));
    }
    mkdirSync(at("info"));
    symlinkSync(path.join(common, "info", "exclude"), at("info", "exclude"));
  } catch (error) {
    dispose();
    throw error;
  }
  return {
    env: {
      ...helperEnvironment(),
      HOME: directory,
      GIT_DIR: directory,
      GIT_INDEX_FILE: workTree === undefined ? path.join(gitDirectory, "index") : path.join(workTree, ".git", "index"),
      GIT_WORK_TREE: workTree ?? top,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_SYSTEM: "/dev/null",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_ATTR_NOSYSTEM: "1",
      GIT_NO_REPLACE_OBJECTS: "1",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_TERMINAL_PROMPT: "0",
      GIT_PAGER: "cat",
      GIT_ASKPASS: "",
      GIT_PROXY_COMMAND: "",
      ...settingVariables(NO_PROGRAMS),
      // Old versions do not know this variable, but without a promisor in the configuration they fetch nothing.
      GIT_NO_LAZY_FETCH: "1",
      ...(network ? networkEnvironment(repository) : { GIT_ALLOW_PROTOCOL: "none" }),
    },
    dispose,
  };
}

const STALE_MS = 24 * 3600 * 1000;

/** Remove what gates that were killed left in the temporary directory. */
export function removeStale(now: number): void {
  const directory = tmpdir();
  let names: readonly string[];
  try {
    names = readdirSync(directory).filter((name) => /^stormlog-gate-(?:git|index)-\w{6}$/.test(name));
  } catch {
    return;
  }
  for (const file of names.map((name) => path.join(directory, name))) {
    try {
      const { mtimeMs, uid } = lstatSync(file);
      if (now - mtimeMs > STALE_MS && uid === process.getuid?.()) rmSync(file, { recursive: true, force: true });
    } catch {
      // Another process removed it, or may only look at it.
    }
  }
}
