import { spawnSync } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** The ordinary user whom a gate runs as: root gets no wall that holds. */
export const USER = 65534;
export const isRoot = process.getuid?.() === 0;
export const AS_USER = isRoot ? ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups"] : [];

const hasNamespaces = (...under: readonly string[]): boolean =>
  process.platform === "linux" &&
  spawnSync("env", [...under, "--pid", "--mount", "--fork", "--mount-proc", "true"]).status === 0;

export const canWall = hasNamespaces(...AS_USER, "unshare", "--user");
/** By root, with the rights that most containers withhold. */
export const canWallAsRoot = isRoot && hasNamespaces("unshare");

/** A new directory of that user, with these below it. */
export function userDirectory(...names: readonly string[]): string {
  const directory = mkdtempSync(path.join(tmpdir(), "gate-wall-"));
  for (const name of ["", ...names]) {
    mkdirSync(path.join(directory, name), { recursive: true });
    if (isRoot) chownSync(path.join(directory, name), USER, USER);
  }
  return directory;
}

const hasSudo = isRoot && spawnSync("sudo", ["-n", "true"]).status === 0;
/** As in most containers: only root may mount another /proc. */
export const MASKED = "mount --bind /etc/hostname /proc/uptime";

/** One way to a wall, with what the gate is run under to come to it. */
export interface WayToWall {
  readonly got: "user" | "sudo";
  /** @param directory for files that it needs */
  readonly under: (directory: string) => readonly string[];
}

/** Those that this machine has. */
export const WAYS: readonly WayToWall[] = [
  ...(canWall ? [{ got: "user" as const, under: () => AS_USER }] : []),
  ...(canWall && hasSudo
    ? [
        {
          got: "sudo" as const,
          under: (directory: string) => {
            const rules = path.join(directory, "sudoers");
            rmSync(rules, { force: true });
            writeFileSync(rules, `#${USER} ALL=(ALL:ALL) NOPASSWD:ALL\n`, { mode: 0o440 });
            const script = `${MASKED} && mount --bind ${rules} /etc/sudoers && exec "$@"`;
            return ["unshare", "--mount", "sh", "-c", script, "sh", ...AS_USER];
          },
        },
      ]
    : []),
];
