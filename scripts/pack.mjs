// Packs the Action's chunks into one file, dist/action/code.js: a step reads it at once and executes chunks of it from
// memory, so that the program it measures cannot rewrite code that is used afterwards (src/actions/code/loader.ts).
import { createHash } from "node:crypto";
import path from "node:path";
import { build, transform } from "esbuild";

/** The pack's name below dist/. */
export const PACK = "action/code.js";

export const sha256 = (data) => createHash("sha256").update(data).digest("hex");

/** A chunk as a function of CommonJS: imports by `import()` stay lazy, each becomes a call of `require` later. */
async function asFunction({ path: sourcefile, text }) {
  const { code } = await transform(text, {
    sourcefile,
    loader: "js",
    format: "cjs",
    platform: "node",
    target: "node20",
    minify: true,
    charset: "utf8",
    supported: { "dynamic-import": false },
    logLevel: "warning",
  });
  return `(function (exports, require, module, stormlogCode) {"use strict";\n${code.trimEnd()}\n})`;
}

/**
 * A JavaScript file of all chunks, which a reviewer and a scanner can read, with an index in its first line: the offset
 * after that line, the length and the number of lines before each chunk, and the digests of other files of `dist/`.
 */
export async function packChunks(outputs, files) {
  const chunks = {};
  const texts = [];
  const sorted = [...outputs].sort((a, b) => (a.path < b.path ? -1 : 1));
  let offset = Buffer.byteLength("[\n");
  let line = 2;
  for (const [at, text] of (await Promise.all(sorted.map(asFunction))).entries()) {
    const name = path.posix.basename(sorted[at].path);
    const head = `// ${name}\n`;
    offset += Buffer.byteLength(head);
    line += 1;
    const bytes = Buffer.byteLength(text);
    if (name in chunks) throw new Error(`two chunks of the Action are named ${name}`);
    chunks[name] = [offset, bytes, line];
    texts.push(`${head}${text},\n`);
    offset += bytes + Buffer.byteLength(",\n");
    line += text.split("\n").length;
  }
  return `// ${JSON.stringify({ chunks, files })}\n[\n${texts.join("")}];\n`;
}

/** What Node starts: the loader, with the pack's digest and the name of the chunk to begin with. */
export async function entryFile(root, entry, digest) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["src/actions/code/entry.ts"],
    write: false,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    charset: "utf8",
    define: {
      STORMLOG_ENTRY: JSON.stringify(path.posix.basename(`${entry}.js`)),
      STORMLOG_DIGEST: JSON.stringify(digest),
    },
    logLevel: "warning",
  });
  return outputFiles[0].text;
}
