import type { PackedCode } from "../../core/package-root.ts";

// An `import` of a built-in module makes Node load what its exports load on first use, which takes milliseconds.
const { createHash } = process.getBuiltinModule("node:crypto");
const { readFileSync } = process.getBuiltinModule("node:fs");
const path = process.getBuiltinModule("node:path");
const { fileURLToPath } = process.getBuiltinModule("node:url");
const { Script } = process.getBuiltinModule("node:vm");

/** The first line of the pack, which `scripts/pack.mjs` writes. */
interface PackIndex {
  /** Offset after the first line, length in bytes and number of lines before each chunk. */
  readonly chunks: Readonly<Record<string, readonly [offset: number, bytes: number, line: number]>>;
  readonly files: PackedCode["files"];
}

type Chunk = (
  exports: Record<string, unknown>,
  require: (name: string) => unknown,
  module: { exports: Record<string, unknown> },
  stormlogCode: PackedCode,
) => void;

/**
 * Read the code of all steps, which lies beside the entry, and return a function that executes a chunk and what it
 * imports. From here on no file of the Action is executed: a measured program may rewrite them. Chunks import each
 * other and Node's own modules only.
 * @throws Error when the file's digest is another
 */
export function loadPack(entryUrl: string, digest: string): (chunk: string) => Record<string, unknown> {
  const file = path.join(path.dirname(fileURLToPath(entryUrl)), "code.js");
  const bytes = readFileSync(file);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== digest) {
    throw new Error(`${file} is not the file that this Action was built with: its SHA-256 is ${found}, not ${digest}`);
  }
  const start = bytes.indexOf("\n") + 1;
  const { chunks, files } = JSON.parse(bytes.toString("utf8", "// ".length, start)) as PackIndex;
  const code: PackedCode = { url: entryUrl, dist: path.resolve(file, "../.."), bytes, files };
  const loaded = new Map<string, { exports: Record<string, unknown> }>();
  const load = (name: string): Record<string, unknown> => {
    const known = loaded.get(name);
    if (known !== undefined) return known.exports;
    const place = chunks[name];
    if (place === undefined) throw new Error(`the code of this Action has no chunk "${name}"`);
    const [offset, length, line] = place;
    const text = bytes.toString("utf8", start + offset, start + offset + length);
    const run = new Script(text, { filename: file, lineOffset: line }).runInThisContext() as Chunk;
    const module = { exports: {} };
    loaded.set(name, module);
    const require = (wanted: string): unknown => process.getBuiltinModule(wanted) ?? load(path.posix.basename(wanted));
    run(module.exports, require, module, code);
    return module.exports;
  };
  return load;
}
