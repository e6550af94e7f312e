import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import type { Addon } from "./addon.ts";
import { sampled } from "./measure.ts";
import type { ProcessTree } from "./tree.ts";

const SECONDS = 3;
/** The name that the sampler gives its thread. */
const THREAD = "slg-host";

function samplerThread(): string | undefined {
  return readdirSync("/proc/self/task").find((task) => {
    try {
      return readFileSync(`/proc/self/task/${task}/comm`, "utf8").trim() === THREAD;
    } catch {
      return false;
    }
  });
}

/**
 * System calls of the sampler's thread per millisecond, by name; or why strace did not count them. Tracing makes every
 * call slow, so the figures are counts only.
 */
export async function systemCalls(
  addon: Addon,
  tree: ProcessTree,
): Promise<Readonly<Record<string, number>> | { readonly skipped: string }> {
  let found: Readonly<Record<string, number>> | { readonly skipped: string } = { skipped: "no strace" };
  await sampled(addon, tree, SECONDS + 1, async () => {
    const thread = samplerThread();
    if (thread === undefined) return;
    const text = await new Promise<string>((resolve) => {
      const args = ["-s", "INT", String(SECONDS), "strace", "-c", "-p", thread];
      execFile("timeout", args, (_, __, stderr) => resolve(stderr));
    });
    const counts = [...text.matchAll(/^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$/gm)]
      .map(([, calls = "0", name = ""]) => [name, Number(calls) / SECONDS / 1e3] as const)
      .filter(([name]) => name !== "total");
    if (counts.length > 0) found = Object.fromEntries(counts);
    else found = { skipped: text.trim().split("\n")[0] || "strace counted nothing" };
  });
  return found;
}
