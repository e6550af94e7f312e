import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../../../src/core/package-root.ts";

/** A release of another tool that `scripts/ci/peers.sh` installs. */
export interface Peer {
  /** `0.4.3`, or `newest`: the newest that was published. */
  readonly version: string;
  readonly installed: boolean;
  /** Runs a script of this directory in it, which prints one JSON document. */
  readonly run: (script: string, ...args: readonly string[]) => unknown;
}

const INSTALLER = path.join(packageRoot(), "scripts", "ci", "peers.sh");
const directory = process.env.STORMLOG_PEERS ?? path.join(packageRoot(), "build", "peers");

/** The releases of a tool that are tested: those that the installer pins from `since` on, and the newest on request. */
export function peersOf(name: string, since = "0"): Peer[] {
  const order = new Intl.Collator("en", { numeric: true });
  const pinned = [...readFileSync(INSTALLER, "utf8").matchAll(/([\w-]+)==([\d.]+)/g)].flatMap(
    ([, tool, version = ""]) => (tool === name && order.compare(version, since) >= 0 ? [version] : []),
  );
  const python = (version: string) => path.join(directory, `${name}-${version}`, "python");
  const versions = [...new Set(pinned), ...(existsSync(python("newest")) ? ["newest"] : [])];
  return versions.map((version) => ({
    version,
    installed: existsSync(python(version)),
    run: (script, ...args) =>
      JSON.parse(
        execFileSync(python(version), [path.join(import.meta.dirname, script), ...args], {
          encoding: "utf8",
          maxBuffer: 1 << 26,
        }),
      ),
  }));
}
