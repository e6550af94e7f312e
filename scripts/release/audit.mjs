// Asks the npm registry for advisories about exactly the packages that dist/ contains: `npm audit` on a lock file of
// them alone, so that neither a test tool raises an alarm nor a bundled package is overlooked.
//
//   node scripts/release/audit.mjs --packages FILE [--required]      FILE: see bundled.mjs
//
// A registry that does not answer is reported and passes, unless --required is given.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { main, ReleaseError } from "./fail.mjs";

const TIMEOUT_MS = 120_000;

/** A lock file of these packages alone, each at the top under an alias: versions of one package stand side by side. */
export function lockOf(packages) {
  const entries = packages.map((one, index) => [`bundled-${index}`, one]);
  const dependencies = Object.fromEntries(
    entries.map(([alias, { name, version }]) => [alias, `npm:${name}@${version}`]),
  );
  const own = { name: "bundled", version: "0.0.0", dependencies };
  const installed = entries.map(([alias, { name, version, integrity }]) => [
    `node_modules/${alias}`,
    { name, version, integrity },
  ]);
  return {
    manifest: { ...own, private: true },
    lock: {
      name: "bundled",
      version: "0.0.0",
      lockfileVersion: 3,
      requires: true,
      packages: { "": own, ...Object.fromEntries(installed) },
    },
  };
}

/** npm's answer, or null with the reason where it has none. */
function npmAudit(packages) {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-audit-"));
  try {
    const { manifest, lock } = lockOf(packages);
    writeFileSync(path.join(directory, "package.json"), JSON.stringify(manifest));
    writeFileSync(path.join(directory, "package-lock.json"), JSON.stringify(lock));
    const args = ["audit", "--json", "--package-lock-only", "--ignore-scripts", "--fetch-retries=1"];
    const ended = spawnSync("npm", args, {
      cwd: directory,
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
      timeout: TIMEOUT_MS,
    });
    if (ended.error !== undefined) return { report: null, reason: ended.error.message };
    let report;
    try {
      report = JSON.parse(ended.stdout);
    } catch {
      return { report: null, reason: ended.stderr.trim() || "npm printed no report" };
    }
    if (typeof report.metadata?.vulnerabilities?.total === "number") return { report, reason: "" };
    return { report: null, reason: report.message ?? report.error?.summary ?? "npm printed no report" };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** One line for each advisory of a report, without repetitions. */
function advisories(report) {
  const lines = Object.values(report.vulnerabilities).flatMap(({ via }) =>
    via
      .filter((one) => typeof one === "object")
      .map(({ name, severity, title, url, range }) => `${name} ${range}: ${severity}: ${title} (${url})`),
  );
  return [...new Set(lines)].sort();
}

/** Returns the sentence to print; throws when there are advisories, or no answer where one is required. */
export function audit(packages, { required = false } = {}) {
  const { report, reason } = npmAudit(packages);
  if (report === null) {
    if (required) throw new ReleaseError(`the bundled packages could not be audited: ${reason}`);
    return `skipped: the registry did not answer (${reason})`;
  }
  const asked = report.metadata.dependencies.total;
  if (asked < packages.length) throw new ReleaseError(`npm audited ${asked} of ${packages.length} bundled packages`);
  const found = advisories(report);
  if (report.metadata.vulnerabilities.total > 0) {
    throw new ReleaseError(`advisories for what dist/ contains:\n${found.join("\n")}`);
  }
  return `no advisory for the ${packages.length} packages that dist/ contains`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(() => {
    const { values } = parseArgs({ options: { packages: { type: "string" }, required: { type: "boolean" } } });
    if (values.packages === undefined) throw new ReleaseError("of which packages? --packages FILE (of bundled.mjs)");
    console.log(`audit: ${audit(JSON.parse(readFileSync(values.packages, "utf8")), values)}`);
  });
}
