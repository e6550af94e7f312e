// src/core/process/debug-signal.ts
process.on("SIGUSR1", () => {
});

// src/core/process/compile-cache.ts
function compileCache(env, { getCompileCacheDir } = process.getBuiltinModule("node:module"), version = process.versions.node) {
  if (getCompileCacheDir !== void 0) return getCompileCacheDir() ?? null;
  return version.startsWith("22.") ? env.NODE_COMPILE_CACHE || null : null;
}

// src/actions/code/loader.ts
var { createHash } = process.getBuiltinModule("node:crypto");
var { readFileSync } = process.getBuiltinModule("node:fs");
var path = process.getBuiltinModule("node:path");
var { fileURLToPath } = process.getBuiltinModule("node:url");
var { Script } = process.getBuiltinModule("node:vm");
function loadPack(entryUrl, digest) {
  const file = path.join(path.dirname(fileURLToPath(entryUrl)), "code.js");
  const bytes = readFileSync(file);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== digest) {
    throw new Error(`${file} is not the file that this Action was built with: its SHA-256 is ${found}, not ${digest}`);
  }
  const start = bytes.indexOf("\n") + 1;
  const { chunks, files } = JSON.parse(bytes.toString("utf8", "// ".length, start));
  const code = { url: entryUrl, dist: path.resolve(file, "../.."), bytes, files };
  const loaded = /* @__PURE__ */ new Map();
  const load2 = (name) => {
    const known = loaded.get(name);
    if (known !== void 0) return known.exports;
    const place = chunks[name];
    if (place === void 0) throw new Error(`the code of this Action has no chunk "${name}"`);
    const [offset, length, line] = place;
    const text = bytes.toString("utf8", start + offset, start + offset + length);
    const run = new Script(text, { filename: file, lineOffset: line }).runInThisContext();
    const module = { exports: {} };
    loaded.set(name, module);
    const require2 = (wanted) => process.getBuiltinModule(wanted) ?? load2(path.posix.basename(wanted));
    run(module.exports, require2, module, code);
    return module.exports;
  };
  return load2;
}

// src/actions/code/entry.ts
var FAILED = 1;
var USAGE = 2;
function fail(status, code, why, hint) {
  process.stdout.write(`::error title=Stormlog Gate%3A ${code}::${why.replace(/[\r\n%]+/g, " ")}. ${hint}
`);
  process.exit(status);
}
var cache = compileCache(process.env);
if (cache !== null) {
  fail(
    USAGE,
    "COMPILE_CACHE_SET",
    `V8's compile cache is in use (${cache}), and code that can write to it can replace the code of this step`,
    'Set NODE_COMPILE_CACHE to "" in the `env` of this step.'
  );
}
var load;
try {
  load = loadPack(import.meta.url, "56ca044c0004104465440c3f762729cf54a49249bd7e6842c2939a32219c0c7f");
} catch (error) {
  fail(
    FAILED,
    "CODE_CHANGED",
    error instanceof Error ? error.message : String(error),
    "Run the job again: it downloads the Action again. An earlier step of the job may have changed its files."
  );
}
await load("report.js").done;
