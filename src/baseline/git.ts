import { execFile } from "node:child_process";

export interface GitResult {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Run git in a directory; never throws. Output is bounded at 64 MiB. */
export function git(
  cwd: string,
  args: readonly string[],
  options: {
    readonly input?: string;
    readonly env?: Readonly<Record<string, string>>;
    /** Timeout in milliseconds, for network operations. */
    readonly timeoutMs?: number;
  } = {},
): Promise<GitResult> {
  return new Promise((resolve) => {
    const child = execFile(
      "git",
      ["-C", cwd, ...args],
      {
        maxBuffer: 64 * 1024 * 1024,
        timeout: options.timeoutMs ?? 0,
        env: { ...process.env, GIT_TERMINAL_PROMPT: "0", ...options.env },
      },
      (error, stdout, stderr) => resolve({ ok: error === null, stdout: stdout.trim(), stderr: stderr.trim() }),
    );
    // git may end before it has read its input. This is reported as git's result.
    child.stdin?.on("error", () => {});
    child.stdin?.end(options.input ?? "");
  });
}
