// Fails when the committed dist/ is not what the sources build: a reviewer reads the sources, users run dist/.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { buildInto, KEPT } from "./build.mjs";
import { LINUX, prebuildProblems } from "./release/prebuilds.mjs";

const committed = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "dist");

function filesOf(root) {
  if (!existsSync(root)) return new Map();
  return new Map(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).split(path.sep).join("/"))
      // The probe keeps its own bytecode beside itself; it is ignored by git.
      .filter((name) => !name.startsWith(`${KEPT}/`) && !name.includes("__pycache__/"))
      .map((name) => [name, readFileSync(path.join(root, name))]),
  );
}

const fresh = mkdtempSync(path.join(tmpdir(), "stormlog-dist-"));
try {
  await buildInto(fresh);
  const expected = filesOf(fresh);
  const actual = filesOf(committed);
  const problems = [];
  for (const [name, bytes] of expected) {
    const there = actual.get(name);
    if (there === undefined) problems.push(`missing    dist/${name}`);
    else if (!there.equals(bytes)) problems.push(`different  dist/${name}`);
  }
  for (const name of actual.keys()) if (!expected.has(name)) problems.push(`left over  dist/${name}`);
  // Built by another compiler on another machine: only their recorded sums can be checked.
  for (const problem of prebuildProblems(path.join(committed, KEPT), LINUX)) {
    problems.push(`prebuild   dist/${KEPT}/${problem} (npm run build:native)`);
  }
  if (problems.length > 0) {
    console.error(
      `dist/ is not what the sources build. Run \`npm run build\` and commit it.\n${problems.sort().join("\n")}`,
    );
    process.exitCode = 1;
  } else {
    console.log(`dist/ is what the sources build (${expected.size} files)`);
  }
} finally {
  rmSync(fresh, { recursive: true, force: true });
}
