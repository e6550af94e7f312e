// Builds dist/: the command line, the Action and what they read at run time. The same sources give the same bytes, so
// that the committed dist/ can be compared with a fresh build (check-dist.mjs).
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

/** The program that the command line's first file loads. */
const PROGRAM = { "chunks/main": "src/cli/main.ts" };
/** Output name -> source. An entry without a source file is left out. */
const ENTRIES = {
  cli: "src/cli/start.ts",
  load: "src/measure/service/http-load.ts",
  "action/main": "src/actions/gate/main.ts",
  "action/report": "src/actions/report/main.ts",
  "action/merge": "src/actions/merge/main.ts",
  "action/refresh": "src/actions/refresh/main.ts",
  "action/accept": "src/actions/accept/main.ts",
};

/** Files read at run time beside the code: our own assets and those of packages. */
const PACKAGE_ASSETS = [
  "@resvg/resvg-wasm/index_bg.wasm",
  "sql.js/dist/sql-wasm.wasm",
  "uplot/dist/uPlot.iife.min.js",
  "uplot/dist/uPlot.min.css",
];

/** Packages that are shipped without passing through the bundler: assets, the font, headers in the native prebuilds. */
const SHIPPED_PACKAGES = [
  "@resvg/resvg-wasm",
  "sql.js",
  "uplot",
  "dejavu-fonts-ttf",
  "node-addon-api",
  "node-api-headers",
];

/** Native prebuilds come from another build and stay. */
export const KEPT = "prebuilds";

/**
 * JavaScript that a step of the Action loads before it does anything. Packages have room for the toolkit's commands and
 * small helpers; an HTTP client or a parser is more, and makes the start as long as three of Node's own.
 */
const START_BUDGET_BYTES = { own: 150_000, packages: 40_000 };

// Some packages are CommonJS inside and call require() for built-in modules.
const BANNER = "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);";

/**
 * The toolkit's packages have no side effects when loaded, but do not declare it. With the declaration,
 * unused modules (HTTP client, tokens, processes) are left out instead of being loaded by every step.
 */
const wholeOnlyWhenUsed = {
  name: "toolkit-without-side-effects",
  setup({ onResolve, resolve }) {
    const ofToolkit = /[\\/]node_modules[\\/]@actions[\\/]/;
    onResolve({ filter: /^(@actions\/|\.)/ }, async ({ path: name, pluginData, ...place }) => {
      const wanted = name.startsWith("@actions/") || ofToolkit.test(place.importer);
      // The resolution below calls this hook again.
      if (!wanted || pluginData === wholeOnlyWhenUsed) return undefined;
      const found = await resolve(name, { ...place, pluginData: wholeOnlyWhenUsed });
      return found.errors.length > 0 ? found : { ...found, sideEffects: false };
    });
  },
};

/**
 * An `import` of a built-in module makes Node load what its exports load on first use (fs.promises, util's parsers):
 * milliseconds of a start. `process.getBuiltinModule` returns the module as it is.
 */
const builtinsAsTheyAre = {
  name: "builtins-as-they-are",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path: name }) => ({ path: name, namespace: "builtin" }));
    onLoad({ filter: /.*/, namespace: "builtin" }, ({ path: name }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(name)});`,
    }));
  },
};

/**
 * The engine of the pictures asks whether its input is a `Request` or a `Response`. It never is, and with the question
 * Node loads its HTTP client: a fifth of the time in which a run draws its pictures.
 */
const engineWithoutFetch = {
  name: "engine-without-fetch",
  setup({ onLoad }) {
    const questions = /typeof (?:Request|Response) === "function"/g;
    onLoad({ filter: /[\\/]@resvg[\\/]resvg-wasm[\\/]index\.mjs$/ }, ({ path: file }) => {
      const text = readFileSync(file, "utf8");
      if (text.match(questions)?.length !== 2) throw new Error(`${file} asks for fetch's classes in another way`);
      return { contents: text.replace(questions, "false"), loader: "js" };
    });
  },
};

/** The first file of the command line has what help needs; the program that it loads otherwise is an entry itself. */
const programApart = {
  name: "program-apart",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/main\.ts$/ }, () => ({ path: "./chunks/main.js", external: true }));
  },
};

/** What runs inside measured processes, as it is; the Action has no other directory than dist/. */
function probeFiles() {
  const directory = path.join(root, "probe");
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(py|cjs)$/.test(entry.name) && !/(^test_|\.test\.)/.test(entry.name))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).split(path.sep).join("/"))
    .filter((name) => !/\/(tests?|__pycache__)\//.test(name))
    .sort();
}

function packageOf(input) {
  const at = input.lastIndexOf("node_modules/");
  if (at < 0) return null;
  const [scope, name] = input.slice(at + "node_modules/".length).split("/");
  return `${input.slice(0, at)}node_modules/${scope.startsWith("@") ? `${scope}/${name}` : scope}`;
}

function licenceText(directory) {
  const names = readdirSync(path.join(root, directory)).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
  return names
    .sort()
    .map((name) =>
      readFileSync(path.join(root, directory, name), "utf8")
        .replace(/\r\n/g, "\n")
        .trim(),
    )
    .join("\n\n");
}

/** Directories of the packages that dist/ contains code or files of. */
function shippedDirectories(inputs) {
  const directories = new Set(SHIPPED_PACKAGES.map((name) => `node_modules/${name}`));
  for (const input of inputs) {
    const directory = packageOf(input);
    if (directory !== null) directories.add(directory);
  }
  return directories;
}

function licences(directories) {
  // Many small packages share one text: it is written once, under all their names.
  const packages = new Map();
  for (const directory of directories) {
    const manifest = JSON.parse(readFileSync(path.join(root, directory, "package.json"), "utf8"));
    const source = manifest.repository?.url ?? manifest.repository ?? manifest.homepage ?? "the npm registry";
    const text = licenceText(directory) || `(the package has no licence file; its source is ${source})`;
    const title = `${manifest.name} ${manifest.version} (${manifest.license ?? "see below"})`;
    packages.set(text, [...(packages.get(text) ?? []), title].sort());
  }
  return [...packages]
    .map(([text, titles]) => `${titles.join("\n")}\n${"-".repeat(80)}\n${text}\n`)
    .sort()
    .join("\n\n");
}

/** Bytes that start with one entry: the entry and everything it imports statically, split by where it comes from. */
function startSize(metafile, entry) {
  const seen = new Set();
  const queue = [entry];
  let own = 0;
  let packages = 0;
  const largest = new Map();
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    const output = metafile.outputs[name];
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const directory = packageOf(input);
      if (directory === null) own += bytesInOutput;
      else {
        packages += bytesInOutput;
        largest.set(directory, (largest.get(directory) ?? 0) + bytesInOutput);
      }
    }
    for (const { path: imported, kind, external } of output.imports) {
      if (kind === "import-statement" && external !== true) queue.push(imported);
    }
  }
  return { own, packages, largest: [...largest].sort(([, a], [, b]) => b - a).slice(0, 3) };
}

/** @throws Error when a step of the Action starts with more than it may */
function checkStart(name, { own, packages, largest }) {
  if (own > START_BUDGET_BYTES.own) {
    throw new Error(
      `${name} starts with ${own} bytes of own code, more than ${START_BUDGET_BYTES.own}: load parts lazily`,
    );
  }
  if (packages > START_BUDGET_BYTES.packages) {
    const which = largest.map(
      ([directory, bytes]) => `${directory.slice(directory.lastIndexOf("node_modules/") + 13)} ${bytes}`,
    );
    const limit = `more than ${START_BUDGET_BYTES.packages}`;
    throw new Error(`${name} starts with ${packages} bytes of packages, ${limit}: load lazily ${which.join(", ")}`);
  }
}

function removeStale(outdir, written) {
  if (!existsSync(outdir)) return;
  for (const entry of readdirSync(outdir, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    const relative = path.relative(outdir, file).split(path.sep).join("/");
    if (relative === KEPT || relative.startsWith(`${KEPT}/`)) continue;
    if (entry.isFile() && !written.has(relative)) rmSync(file);
  }
}

/** What esbuild calls a chunk: a name and a digest of the content. */
const HASHED_CHUNK = /[^"'`/]+-[A-Z0-9]{8}\.js/g;

/**
 * Names of a build's chunks that follow from their modules. By esbuild's names, which contain a digest, a change of one
 * line renames its chunk, and with it alters and renames every chunk that imports it. Each module is in one chunk.
 */
function stableNames({ outputs }) {
  const moduleName = (input) => {
    const [own, ...packages] = input.split("node_modules/");
    const name = packages.length > 0 ? `~${packages.at(-1)}` : own.replace(/^src\//, "");
    return name.replace(/\.[^./]+$/, "").replace(/[^A-Za-z0-9~]+/g, "-");
  };
  const names = new Map();
  for (const [output, { inputs, entryPoint }] of Object.entries(outputs)) {
    const [hashed] = path.posix.basename(output).match(HASHED_CHUNK) ?? [];
    if (hashed === undefined) continue;
    // "~" sorts packages after own modules.
    const [first = "none"] = Object.keys(inputs).map(moduleName).sort();
    // An entry whose module is in a shared chunk only passes its exports on.
    const passedOn = entryPoint in inputs ? "" : "-exports";
    const name = entryPoint === undefined ? first : `${moduleName(entryPoint)}${passedOn}`;
    names.set(hashed, `${name.replace(/^~?-?/, "")}.js`);
  }
  const taken = [...names.values()];
  const twice = taken.find((name, at) => taken.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`two chunks are named ${twice}`);
  return (text) => text.replace(HASHED_CHUNK, (hashed) => names.get(hashed) ?? hashed);
}

/** Options of all builds. The metafile's names are relative to the output directory whatever it is. */
const bundled = (entryPoints, more) => ({
  absWorkingDir: root,
  entryPoints,
  outdir: path.join(root, "dist"),
  write: false,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  chunkNames: "chunks/[name]-[hash]",
  metafile: true,
  logLevel: "warning",
  plugins: [wholeOnlyWhenUsed, engineWithoutFetch],
  ...more,
});

// sql.js looks for its module's directory, to find a file that it receives directly.
const DEFINE = { "process.env.NODE_ENV": '"production"', __dirname: '"."' };
const AS_START = { define: DEFINE, plugins: [programApart, builtinsAsTheyAre] };
const AS_MODULE = { banner: { js: BANNER }, define: DEFINE };

const isStep = (name) => name.startsWith("action/");
/** What the start of a step loads. */
const stepOf = (name) => name.replace("action/", "chunks/step-");

/** The file that Node starts for a step. It listens to SIGUSR1 before anything else is loaded. */
async function stepStart(name) {
  const contents = `import "./src/core/process/debug-signal.ts";\nawait import("../${stepOf(name)}.js");\n`;
  const options = { stdin: { contents, resolveDir: root }, external: ["../chunks/*"] };
  const { outputFiles } = await build(bundled(undefined, options));
  return outputFiles[0].text;
}

/** Bundle entries by how they are started; returns output files by name below dist/, and each entry's start. */
async function bundle(entries) {
  const whole = "cli" in entries ? { ...entries, ...PROGRAM } : entries;
  const existing = Object.entries(whole).filter(([, source]) => existsSync(path.join(root, source)));
  const select = (test) => existing.filter(([name]) => test(name));
  const groups = [
    { entryPoints: Object.fromEntries(select((name) => name === "cli")), options: AS_START },
    {
      entryPoints: Object.fromEntries(
        select((name) => name !== "cli").map(([name, source]) => [isStep(name) ? stepOf(name) : name, source]),
      ),
      options: { ...AS_MODULE, splitting: true },
    },
  ];
  const modules = [];
  const inputs = new Set();
  const sizes = {};
  const own = {};
  for (const { entryPoints, options } of groups) {
    if (Object.keys(entryPoints).length === 0) continue;
    const { outputFiles, metafile } = await build(bundled(entryPoints, options));
    const renamed = stableNames(metafile);
    for (const file of outputFiles) {
      const name = path.relative(path.join(root, "dist"), file.path).split(path.sep).join("/");
      modules.push({ path: renamed(name), text: renamed(file.text) });
    }
    for (const [name, output] of Object.entries(metafile.outputs)) {
      for (const input of Object.keys(output.inputs)) inputs.add(input);
      const used = Object.entries(output.inputs).filter(
        ([input, { bytesInOutput }]) => bytesInOutput > 0 && input.startsWith("src/"),
      );
      own[renamed(name)] = used.map(([input]) => input);
    }
    for (const name of Object.keys(entryPoints)) {
      sizes[name.replace("chunks/step-", "action/")] = startSize(metafile, `dist/${name}.js`);
    }
  }
  for (const [name] of select(isStep)) modules.push({ path: `${name}.js`, text: await stepStart(name) });
  return { modules, inputs, sizes, own };
}

/** Directories, relative to the project, of the packages whose code or files dist/ contains; writes nothing. */
export async function shippedPackages() {
  const { inputs } = await bundle(ENTRIES);
  // Where node_modules is a link, the bundler reports the directory that it leads to.
  const inProject = (directory) => directory.slice(directory.indexOf("node_modules/"));
  return [...new Set([...shippedDirectories(inputs)].map(inProject))].sort();
}

/** Modules of this project in each file of the command line, by its path below the project; writes nothing. */
export async function ownModules() {
  return (await bundle(ENTRIES)).own;
}

/** Build into a directory; returns what each entry starts with. Its types are in build.d.mts. */
export async function buildInto(outdir, entries = ENTRIES) {
  const { modules, inputs, sizes } = await bundle(entries);
  const written = new Map();
  const put = (relative, contents) => {
    const file = path.join(outdir, relative);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, contents);
    written.set(relative, contents);
  };
  for (const { path: name, text } of modules) {
    const shebang = name === "cli.js" && !text.startsWith("#!") ? "#!/usr/bin/env node\n" : "";
    put(name, shebang + text);
  }
  if (written.has("cli.js")) chmodSync(path.join(outdir, "cli.js"), 0o755);
  const own = path.join(root, "src/report/timeline/assets");
  for (const name of existsSync(own) ? readdirSync(own) : []) {
    if (!/\.(ttf|css|js|html)$/.test(name) || name.includes(".test.")) continue;
    put(`assets/${name}`, readFileSync(path.join(own, name)));
  }
  for (const source of PACKAGE_ASSETS) {
    put(`assets/${path.posix.basename(source)}`, readFileSync(path.join(root, "node_modules", source)));
  }
  for (const name of probeFiles()) put(name, readFileSync(path.join(root, name)));
  const musl = readFileSync(path.join(root, "native/musl-licence.txt"), "utf8");
  put("licenses.txt", `${licences(shippedDirectories(inputs))}\n\n${musl}`);
  removeStale(outdir, written);
  for (const name of Object.keys(sizes).filter(isStep)) checkStart(name, sizes[name]);
  return sizes;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sizes = await buildInto(path.join(root, "dist"));
  const kilo = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;
  for (const [name, { own, packages }] of Object.entries(sizes)) {
    console.log(`dist/${name}.js starts with ${kilo(own)} of own code and ${kilo(packages)} of packages`);
  }
}
