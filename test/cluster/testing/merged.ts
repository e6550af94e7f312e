import { type Ended, type Environment, run } from "./program.ts";

/** What these tests look at in the document that `merge --json` prints. */
interface Merged {
  readonly verdict: string;
  readonly exit_code: number;
  readonly warnings: readonly string[];
  readonly scenarios: readonly {
    readonly scenario: string;
    readonly verdict: string;
    readonly judgement: {
      readonly reason: string;
      readonly checks: readonly { readonly rank: number; readonly verdict: string; readonly reason: string }[];
    } | null;
    readonly error: { readonly code: string; readonly message: string } | null;
  }[];
}

export interface MergeAnswer {
  readonly code: number | null;
  readonly stderr: string;
  readonly merged: Merged;
}

/** `stormlog-gate merge` with these arguments. @throws Error when it printed no report */
export async function merge(args: readonly string[], options: { cwd: string; env: Environment }): Promise<MergeAnswer> {
  const ended: Ended = await run(["stormlog-gate", "merge", "--json", ...args], options);
  try {
    return { code: ended.code, stderr: ended.stderr, merged: JSON.parse(ended.stdout).payload };
  } catch {
    throw new Error(`merge ended with ${ended.code} and no report: ${ended.stderr}${ended.stdout.slice(0, 500)}`);
  }
}
