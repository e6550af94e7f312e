import path from "node:path";
import { lockDifference } from "../../bisect/locks.ts";
import { packageSubject, TOOLS, type Tool } from "../../bisect/packages.ts";
import { isUvLock, uvRequirements } from "../../bisect/uv-lock.ts";
import { DEFAULTS } from "../../config/run-options.ts";
import { codeOf, invalidInput, usageError } from "../../core/errors.ts";
import { readBounded } from "../../core/files.ts";
import { changeText } from "../../report/headline/line-answer.ts";
import type { Invocation } from "../console/command.ts";
import { interruptSignal } from "../console/ports.ts";
import { checkSearch, printSearch, search, searchEnvironment } from "../search/search-command.ts";

function readLock(file: string): string {
  try {
    return readBounded(file, 64 * 2 ** 20).toString("utf8");
  } catch (error) {
    const code = codeOf(error) ?? String(error);
    throw invalidInput("LOCK_UNREADABLE", `the lock cannot be read (${code})`, file);
  }
}

function toolOf(text: string | undefined, kind: "requirements" | "package-lock", usual: Tool | undefined): Tool {
  const fitting = TOOLS.filter((tool) => (tool === "npm") === (kind === "package-lock"));
  const tool = text === undefined ? (usual ?? fitting[0]) : fitting.find((name) => name === text);
  if (tool !== undefined) return tool;
  throw usageError("OPTION_INVALID", `--tool "${text}" does not install such a lock`, `Use ${fitting.join(" or ")}.`);
}

export async function culprit(invocation: Invocation): Promise<number> {
  const { good, bad, command } = checkSearch(invocation);
  const locks = [readLock(good), readLock(bad)] as const;
  const { text } = invocation;
  const interrupt = interruptSignal();
  const env = searchEnvironment(invocation);
  const plain = async (lock: string, file: string): Promise<string> =>
    isUvLock(lock) ? uvRequirements(lock, file, { env, interrupt }) : lock;
  const requirements = [await plain(locks[0], good), await plain(locks[1], bad)] as const;
  const difference = lockDifference(...requirements, [good, bad]);
  const tool = toolOf(text.tool, difference.kind, isUvLock(locks[1]) ? "uv" : undefined);
  const finished = await search(invocation, command, {
    identity: { kind: "culprit", locks, tool },
    subject: packageSubject(difference, {
      tool,
      cwd: process.cwd(),
      directory: path.resolve(text.output ?? DEFAULTS.culprit),
      env,
      interrupt,
    }),
    defaultOutput: DEFAULTS.culprit,
    interrupt,
  });
  const { result } = finished;
  const changes =
    result.kind === "not-reproducible" ? [] : result.changes.flatMap((at) => difference.changes[at] ?? []);
  const named = changes.map((change) => changeText({ name: change.name, from: change.good, to: change.bad }));
  const many = changes.length > 1 ? [`${changes.length} packages that could only be judged together:`] : [];
  return printSearch(invocation, finished, { lines: [...many, ...named], changes });
}
