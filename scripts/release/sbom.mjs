// Writes the bill of materials of dist/ (CycloneDX 1.6, JSON): the packages that it contains, with versions, licences
// and the digests of the lock file, and the native prebuilds with their digests. Needs no packages of its own.
//
//   node scripts/release/sbom.mjs --packages FILE [--commit SHA] [--into FILE]      FILE: see bundled.mjs
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { main, ReleaseError } from "./fail.mjs";
import { git } from "./git.mjs";
import { prebuildSums } from "./prebuilds.mjs";

const PREBUILDS = "dist/prebuilds";
/** Headers that are compiled into the addon, so that its digest depends on them. */
const ADDON_HEADERS = ["node-addon-api", "node-api-headers"];

/** https://github.com/package-url/purl-spec: the scope's "@" is encoded. */
function packageUrl(name, version) {
  return `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;
}

/** npm's own convention; the lock file leaves the registry's addresses out. */
function tarball(name, version) {
  return `https://registry.npmjs.org/${name}/-/${name.slice(name.indexOf("/") + 1)}-${version}.tgz`;
}

/** SPDX knows identifiers and expressions; anything else is a name. */
function licences(licence) {
  if (licence === null) return {};
  if (/^[A-Za-z0-9.+-]+$/.test(licence)) return { licenses: [{ license: { id: licence } }] };
  if (/^[A-Za-z0-9.+() -]+$/.test(licence) && / (?:OR|AND|WITH) /.test(licence)) {
    return { licenses: [{ expression: licence.replace(/^\((.*)\)$/, "$1") }] };
  }
  return { licenses: [{ license: { name: licence } }] };
}

/** An npm integrity value (`sha512-…` in base64) as CycloneDX writes it. */
function integrityHash(integrity) {
  const [, bits, digest] = /^sha(256|384|512)-([A-Za-z0-9+/]+=*)$/.exec(integrity) ?? [];
  if (bits === undefined) throw new ReleaseError(`"${integrity}" is not the digest of a package`);
  return { alg: `SHA-${bits}`, content: Buffer.from(digest, "base64").toString("hex") };
}

function library({ name, version, licence, integrity }) {
  const [scope, rest] = name.startsWith("@") ? name.split("/") : [undefined, name];
  const purl = packageUrl(name, version);
  return {
    type: "library",
    "bom-ref": purl,
    ...(scope === undefined ? {} : { group: scope }),
    name: rest,
    version,
    scope: "required",
    ...licences(licence),
    purl,
    externalReferences: [{ type: "distribution", url: tarball(name, version), hashes: [integrityHash(integrity)] }],
  };
}

function prebuild([name, sum]) {
  const file = `${PREBUILDS}/${name}`;
  const [compiler] = /GCC: \([^)]{1,80}\) [\d.]+/.exec(readFileSync(file, "latin1")) ?? [];
  return {
    type: "file",
    "bom-ref": file,
    name: file,
    scope: "required",
    hashes: [{ alg: "SHA-256", content: sum }],
    ...(compiler === undefined ? {} : { properties: [{ name: "stormlog-gate:compiler", value: compiler }] }),
  };
}

/** What each component contains, by reference. A package that no other one needs is used by the gate itself. */
function relations(own, packages, refs, files) {
  const needed = new Set(packages.flatMap(({ needs }) => needs.map((directory) => refs.get(directory))));
  const direct = new Set(Object.keys(own.devDependencies ?? {}).map((name) => `node_modules/${name}`));
  const byRef = new Map();
  for (const { directory, needs } of packages) {
    const ref = refs.get(directory);
    byRef.set(ref, new Set([...(byRef.get(ref) ?? []), ...needs.map((name) => refs.get(name))]));
  }
  const headers = packages
    .filter(({ name }) => ADDON_HEADERS.includes(name))
    .map(({ directory }) => refs.get(directory));
  for (const { name } of files) byRef.set(name, new Set(name.endsWith(".node") ? headers : []));
  const top = packages
    .filter(({ directory }) => direct.has(directory) || !needed.has(refs.get(directory)))
    .map(({ directory }) => refs.get(directory));
  byRef.set(packageUrl(own.name, own.version), new Set([...top, ...files.map(({ name }) => name)]));
  return [...byRef].sort(([a], [b]) => (a < b ? -1 : 1)).map(([ref, on]) => ({ ref, dependsOn: [...on].sort() }));
}

/**
 * The bill of the current directory. The same packages, prebuilds and commit give the same bytes.
 * @param packages of bundled.mjs
 * @param commit with its time (ISO 8601)
 */
export function billOfMaterials(packages, { commit, time }) {
  const own = JSON.parse(readFileSync("package.json", "utf8"));
  const refs = new Map(packages.map(({ directory, name, version }) => [directory, packageUrl(name, version)]));
  // One package may be installed at two places in the same version.
  const libraries = [...new Map(packages.map((one) => [refs.get(one.directory), library(one)])).values()];
  const files = [...prebuildSums()].map(prebuild);
  const purl = packageUrl(own.name, own.version);
  const { repository } = own;
  const content = {
    metadata: {
      timestamp: new Date(time).toISOString(),
      lifecycles: [{ phase: "build" }],
      component: {
        type: "application",
        "bom-ref": purl,
        name: own.name,
        version: own.version,
        ...licences(own.license),
        purl,
        externalReferences: [{ type: "vcs", url: repository.url.replace(/^git\+/, "") }],
        properties: [{ name: "stormlog-gate:commit", value: commit }],
      },
    },
    components: [...libraries, ...files],
    dependencies: relations(own, packages, refs, files),
  };
  const digest = createHash("sha256").update(JSON.stringify(content)).digest("hex");
  // A UUID of version 8: its bits come from the content.
  const uuid = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `8${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ].join("-");
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuid}`,
    version: 1,
    ...content,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(() => {
    const text = { type: "string" };
    const { values } = parseArgs({ options: { packages: text, commit: text, into: text } });
    if (values.packages === undefined) throw new ReleaseError("of which packages? --packages FILE (of bundled.mjs)");
    const packages = JSON.parse(readFileSync(values.packages, "utf8"));
    const commit = git(["rev-parse", "--verify", `${values.commit ?? "HEAD"}^{commit}`]);
    const time = git(["show", "--no-patch", "--format=%cI", commit]);
    const bill = `${JSON.stringify(billOfMaterials(packages, { commit, time }), null, 2)}\n`;
    if (values.into === undefined) return process.stdout.write(bill);
    mkdirSync(path.dirname(values.into), { recursive: true });
    writeFileSync(values.into, bill);
    console.log(`${JSON.parse(bill).components.length} components: ${values.into}`);
  });
}
