// Lists the packages whose code or files dist/ contains, by the bundler's metafile: what the SBOM names and the audit
// asks about. Needs `npm ci`.
//
//   node scripts/release/bundled.mjs --into FILE
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { shippedPackages } from "../build.mjs";
import { main, ReleaseError } from "./fail.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const readJson = (file) => JSON.parse(readFileSync(path.join(root, file), "utf8"));

/** Each directory that a package's own dependencies are resolved to, as Node does: the nearest one upwards. */
function resolved(directory, name, directories) {
  for (let from = directory; ; ) {
    const candidate = `${from === "" ? "" : `${from}/`}node_modules/${name}`;
    if (directories.has(candidate)) return candidate;
    if (from === "") return null;
    const at = from.lastIndexOf("node_modules/");
    from = from.slice(0, at).replace(/\/$/, "");
  }
}

/** @returns packages sorted by directory; `needs` has the directories of other shipped packages */
export async function bundledPackages() {
  const directories = new Set(await shippedPackages());
  const locked = readJson("package-lock.json").packages;
  return [...directories].map((directory) => {
    const manifest = readJson(`${directory}/package.json`);
    const lock = locked[directory];
    if (lock === undefined) throw new ReleaseError(`package-lock.json does not have ${directory}`);
    if (lock.version !== manifest.version) {
      throw new ReleaseError(
        `${directory} is ${manifest.version}, package-lock.json has ${lock.version}: run \`npm ci\``,
      );
    }
    const names = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
    const needs = names.map((name) => resolved(directory, name, directories)).filter((found) => found !== null);
    return {
      directory,
      name: manifest.name,
      version: manifest.version,
      licence: manifest.license ?? null,
      integrity: lock.integrity,
      needs: needs.sort(),
    };
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    const { values } = parseArgs({ options: { into: { type: "string" } } });
    if (values.into === undefined) throw new ReleaseError("where? node scripts/release/bundled.mjs --into FILE");
    const packages = await bundledPackages();
    mkdirSync(path.dirname(values.into), { recursive: true });
    writeFileSync(values.into, `${JSON.stringify(packages, null, 2)}\n`);
    console.log(`dist/ contains ${packages.length} packages: ${values.into}`);
  });
}
