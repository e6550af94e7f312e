import type { Package } from "../../analysis/series/document.ts";
import { normalName } from "../../core/locks.ts";
import { plural } from "../../core/text.ts";
import type { LockChange, ScenarioReport } from "../model/gate-report.ts";
import { namedLine } from "./line-answer.ts";

/** Packages that a sentence lists. */
const MAX_SHOWN = 5;

/** Who reads a text, which decides how the change is called. */
type Reader = "terminal" | "pull-request";

const SINCE: Readonly<Record<Reader, string>> = {
  terminal: "since the base commit",
  "pull-request": "in this pull request",
};

/** Whether a change of a lock is that of an installed package. */
export function changesPackage({ ecosystem, name }: LockChange, owner: Package): boolean {
  if (ecosystem !== owner.ecosystem) return false;
  return ecosystem === "python" ? normalName(name) === normalName(owner.name) : name === owner.name;
}

/** "numpy 1.26.0 -> 2.0.0". Not escaped. */
export function changeText({ name, from, to }: Omit<LockChange, "ecosystem">): string {
  if (from === null) return `${name} added at ${to}`;
  return to === null ? `${name} ${from} removed` : `${name} ${from} -> ${to}`;
}

/** The packages that a breaching change locks to other versions, in one sentence; null for none. Not escaped. */
export function lockText({ lock_changes: locks }: ScenarioReport, reader: Reader = "terminal"): string | null {
  if (locks === undefined || locks.packages.length === 0) return null;
  const shown = locks.packages.slice(0, MAX_SHOWN);
  const rest = locks.total - shown.length;
  const listed = shown.map(changeText).join(", ");
  const more = rest > 0 ? ` and ${rest} more` : "";
  return `${plural(locks.total, "locked package")} changed ${SINCE[reader]}: ${listed}${more}`;
}

/** "numpy 1.26.0 -> 2.0.0 in this pull request" for the package of the named line; null where it is unchanged. */
export function ownLockText(scenario: ScenarioReport, reader: Reader = "terminal"): string | null {
  const owner = namedLine(scenario.findings)?.finding.package;
  const own = scenario.lock_changes?.packages.find((change) => owner !== undefined && changesPackage(change, owner));
  return own === undefined ? null : `${changeText(own)} ${SINCE[reader]}`;
}
