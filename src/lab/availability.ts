import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { CatalogueEntry, LabFramework } from "./catalogue.ts";

const execFileAsync = promisify(execFile);

export interface Availability {
  /** Why a pattern cannot run here; null when it can. */
  readonly reason: (entry: CatalogueEntry) => string | null;
}

/** Find the frameworks that the Python has installed. */
export async function labAvailability(python: string): Promise<Availability> {
  let there: readonly string[] | null;
  try {
    // Finds a module without importing it: an import of TensorFlow takes longer than a pattern.
    const { stdout } = await execFileAsync(
      python,
      [
        "-c",
        "import importlib.util, sys; print(*[name for name in sys.argv[1:] if importlib.util.find_spec(name)])",
        ...(["torch", "tensorflow", "jax"] as const satisfies readonly LabFramework[]),
      ],
      { timeout: 30_000 },
    );
    there = stdout.trim().split(/\s+/);
  } catch {
    there = null;
  }
  return {
    reason: ({ framework }) => {
      if (framework === "node") return null;
      if (there === null) return `"${python}" cannot be run; name a Python with --python`;
      if (framework === "python" || there.includes(framework)) return null;
      return `${framework} is not installed for "${python}"`;
    },
  };
}
