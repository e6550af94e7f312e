import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../src/core/package-root.ts";
import { FACES } from "./testing/faces.ts";

/** Every room of `src` and the rooms it may use, from the top of the house to the ground. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  actions: [
    "github",
    "nightly",
    "merge",
    "gate",
    "attribution",
    "report",
    "config",
    "verdict",
    "baseline",
    "sampler",
    "git",
    "core",
  ],
  cli: [
    "history",
    "lab",
    "bisect",
    "merge",
    "gate",
    "doctor",
    "inputs",
    "report",
    "config",
    "verdict",
    "baseline",
    "analysis",
    "snapshot",
    "telemetry",
    "git",
    "core",
  ],
  github: ["report", "verdict", "baseline", "analysis", "git", "core"],
  lab: ["gate", "report", "config", "verdict", "baseline", "analysis", "measure", "telemetry", "core"],
  bisect: ["gate", "report", "config", "verdict", "baseline", "sampler", "git", "core"],
  history: ["gate", "inputs", "report", "verdict", "baseline", "analysis", "telemetry", "stats", "git", "core"],
  nightly: ["gate", "attribution", "report", "config", "verdict", "baseline", "analysis", "telemetry", "core"],
  merge: ["gate", "report", "config", "verdict", "baseline", "analysis", "measure", "telemetry", "core"],
  attribution: [
    "inputs",
    "report",
    "config",
    "verdict",
    "analysis",
    "snapshot",
    "measure",
    "telemetry",
    "stats",
    "git",
    "core",
  ],
  gate: [
    "attribution",
    "report",
    "config",
    "verdict",
    "baseline",
    "analysis",
    "measure",
    "telemetry",
    "stats",
    "git",
    "core",
  ],
  doctor: ["measure", "sampler", "core"],
  inputs: ["report", "baseline", "analysis", "snapshot", "telemetry", "core"],
  report: ["verdict", "analysis", "snapshot", "telemetry", "stats", "core"],
  config: ["verdict", "telemetry", "core"],
  verdict: ["baseline", "analysis", "telemetry", "stats", "core"],
  baseline: ["analysis", "telemetry", "git", "core"],
  analysis: ["snapshot", "telemetry", "stats", "core"],
  snapshot: ["telemetry", "stats", "core"],
  measure: ["telemetry", "sampler", "core"],
  telemetry: ["sampler", "core"],
  sampler: ["core"],
  stats: [],
  git: ["core"],
  core: [],
};
const MAX_LINES = 400;
/** Source files of a directory; a header and its source count twice. */
const MAX_FILES = 20;
/** As in `biome.json` for TypeScript. */
const MAX_FUNCTION_LINES = 100;

const root = packageRoot();
const source = path.join(root, "src");
const shown = (file: string): string => path.relative(root, file);
const room = (file: string): string => path.relative(source, file).split(path.sep)[0] ?? "";
const isTest = (file: string): boolean => /\.test\.ts$/.test(file) || file.includes(`${path.sep}testing${path.sep}`);

function filesBelow(directory: string, endings: readonly string[]): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const full = path.join(directory, entry.name);
    if (entry.isDirectory())
      return ["node_modules", "fixtures", "__pycache__"].includes(entry.name) ? [] : filesBelow(full, endings);
    return endings.some((ending) => entry.name.endsWith(ending)) ? [full] : [];
  });
}

const production = filesBelow(source, [".ts"]).filter((file) => !isTest(file));

/** Files of the project that a TypeScript file imports, also late or for their types. */
function importsOf(file: string, text = readFileSync(file, "utf8")): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, name = ""]) =>
    path.resolve(path.dirname(file), name),
  );
}

/** Modules of its own package that a Python file imports, wherever in the file. */
function pythonImportsOf(file: string, files: readonly string[]): string[] {
  const found = readFileSync(file, "utf8").matchAll(/^\s*from (\.+)([\w.]*) import \(?([\w ,\n]+)/gm);
  return [...found].flatMap(([, dots = "", module = "", names = ""]) => {
    const base = path.join(path.dirname(file), ...Array<string>(dots.length - 1).fill(".."), ...module.split("."));
    const candidates = [`${base}.py`, ...names.split(/[\s,]+/).map((name) => path.join(base, `${name}.py`))];
    return candidates.filter((candidate) => files.includes(candidate));
  });
}

/** Lines of every function of a Python file, by the indentation of its block. */
function pythonFunctions(file: string): { readonly at: string; readonly lines: number }[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.flatMap((line, start) => {
    const indent = /^( *)(?:async )?def /.exec(line)?.[1];
    if (indent === undefined) return [];
    // The parenthesis that ends a long list of parameters stands below the `def`.
    const after = lines.findIndex(
      (next, at) => at > start && /\S/.test(next) && !new RegExp(`^${indent}[ )]`).test(next),
    );
    const block = lines.slice(start, after < 0 ? undefined : after);
    return [{ at: `${shown(file)}:${start + 1}`, lines: block.findLastIndex((next) => next.trim() !== "") + 1 }];
  });
}

/** Files of the fake NVIDIA library that define a function which this file calls. */
function callsOf(file: string, files: readonly string[]): string[] {
  const text = readFileSync(file, "utf8");
  return files.filter((other) => {
    const defined = readFileSync(other, "utf8").matchAll(/^(?!static\b)\w[\w *]*?\b(\w+)\([^;{]*\)\s*\{/gm);
    return other !== file && [...defined].some(([, name = ""]) => new RegExp(`\\b${name}\\(`).test(text));
  });
}

/** One circle of a directed graph as the nodes on it; null where there is none. */
function findCircle(graph: ReadonlyMap<string, readonly string[]>): readonly string[] | null {
  const done = new Set<string>();
  const visit = (node: string, trail: readonly string[]): readonly string[] | null => {
    if (trail.includes(node)) return [...trail.slice(trail.indexOf(node)), node];
    if (done.has(node)) return null;
    for (const next of graph.get(node) ?? []) {
      const circle = visit(next, [...trail, node]);
      if (circle !== null) return circle;
    }
    done.add(node);
    return null;
  };
  for (const node of graph.keys()) {
    const circle = visit(node, []);
    if (circle !== null) return circle;
  }
  return null;
}

const graphOf = (files: readonly string[], edges: (file: string) => readonly string[]) =>
  findCircle(new Map(files.map((file) => [shown(file), edges(file).map(shown)])));

describe("the layout of the house", () => {
  it("the sources start programs in a few files alone, so that git has one environment and one configuration", () => {
    const starting = production.filter((file) => readFileSync(file, "utf8").includes('"node:child_process"'));
    expect(starting.map(shown).sort()).toEqual([
      "src/core/process/child.ts",
      "src/lab/availability.ts",
      "src/measure/environment/probe-trial.ts",
      "src/measure/launch/start-in-session.ts",
    ]);
    const gits = production.filter((file) => /find\("git"\)/.test(readFileSync(file, "utf8")));
    expect(gits.map(shown).sort()).toEqual(["src/doctor/doctor.ts", "src/git/git.ts"]);
  });

  it("every source file has a room of the table", () => {
    expect(filesBelow(source, [".ts"]).filter((file) => ROOMS[room(file)] === undefined)).toEqual([]);
  });

  it("a room uses the rooms of the table alone, and the table lists none that it does not use", () => {
    const used = new Map(Object.keys(ROOMS).map((name) => [name, new Set<string>()]));
    for (const file of production) {
      for (const target of importsOf(file)) {
        if (target.startsWith(source) && room(target) !== room(file)) used.get(room(file))?.add(room(target));
      }
    }
    const sorted = (names: Iterable<string>) => [...names].sort();
    expect(Object.fromEntries([...used].map(([name, rooms]) => [name, sorted(rooms)]))).toEqual(
      Object.fromEntries(Object.entries(ROOMS).map(([name, rooms]) => [name, sorted(rooms)])),
    );
  });

  it("a room imports the faces of other rooms alone, and the list has none that no other room imports", () => {
    const libraries = ["core", "stats"];
    const used = new Set<string>();
    for (const file of production) {
      const others = importsOf(file).filter((target) => target.startsWith(source) && room(target) !== room(file));
      for (const target of others) if (!libraries.includes(room(target))) used.add(path.relative(source, target));
    }
    const listed = Object.entries(FACES).flatMap(([name, files]) => files.map((file) => path.join(name, file)));
    expect([...used].sort()).toEqual(listed.sort());
  });

  it("files re-export none with `export *`, which would load all of it for each importer", () => {
    expect(production.filter((file) => /^export \*/m.test(readFileSync(file, "utf8"))).map(shown)).toEqual([]);
  });

  it("other tools' formats are reached through the commands that read files, never from a measurement", () => {
    const foreign = path.join(source, "inputs", "foreign") + path.sep;
    const reached = (entry: string): boolean => {
      const files = new Set([path.join(source, entry)]);
      for (const file of files) {
        const loaded = readFileSync(file, "utf8").replace(/(?:import|export) type [^;]*;/g, "");
        for (const target of importsOf(file, loaded)) if (existsSync(target)) files.add(target);
      }
      return [...files].some((file) => file.startsWith(foreign));
    };
    const commands = readdirSync(path.join(source, "cli/commands")).filter((name) => /^[a-z]+\.ts$/.test(name));
    const through = ["commands.ts", "programs.ts"];
    expect(commands.filter((name) => reached(`cli/commands/${name}`) && !through.includes(name))).toEqual([
      "analyze.ts",
      "compare.ts",
      "export.ts",
      "history.ts",
      "judge.ts",
      "merge.ts",
    ]);
    const entries = readdirSync(path.join(source, "actions")).map((name) => `actions/${name}/main.ts`);
    expect(entries.filter((entry) => existsSync(path.join(source, entry)) && reached(entry))).toEqual([]);
  });

  it("the variables of GitHub Actions are read in one file and in the rooms that are of GitHub", () => {
    const reading = production.filter(
      (file) =>
        !["actions", "github"].includes(room(file)) && /\b(?:GITHUB|RUNNER)_[A-Z]/.test(readFileSync(file, "utf8")),
    );
    expect(reading.map(shown).sort()).toEqual([
      // What a helper program keeps, so that the runner can end it.
      "src/core/process/child.ts",
      "src/core/process/environment.ts",
      // What the measured command does not get.
      "src/measure/environment/scrub-environment.ts",
    ]);
  });

  it("the table of rooms has no cycle", () => {
    expect(findCircle(new Map(Object.entries(ROOMS)))).toBeNull();
  });

  it("files of src, of the Python probe and of the fake NVIDIA library have no dependency cycle", () => {
    const python = filesBelow(path.join(root, "probe"), [".py"]);
    const library = filesBelow(path.join(root, "native", "fake-nvml"), [".c"]);
    expect(graphOf(production, importsOf)).toBeNull();
    expect(graphOf(python, (file) => pythonImportsOf(file, python))).toBeNull();
    expect(graphOf(library, (file) => callsOf(file, library))).toBeNull();
  });

  it("two directories of a room never import each other", () => {
    const edges = new Set<string>();
    for (const file of production) {
      for (const target of importsOf(file)) {
        const [from, to] = [path.dirname(file), path.dirname(target)].map(shown);
        if (from !== to && room(target) === room(file)) edges.add(`${from} ${to}`);
      }
    }
    const mutual = [...edges].filter((edge) => edges.has(edge.split(" ").reverse().join(" ")));
    expect(mutual).toEqual([]);
  });

  it("the pure rooms use no clock, file or environment", () => {
    const impure = production
      .filter((file) => ["analysis", "verdict", "snapshot", "stats"].includes(room(file)))
      .filter((file) =>
        /["']node:(?!crypto)|Date\.now|new Date\(|process\.[a-z]|Math\.random|performance\./.test(
          readFileSync(file, "utf8"),
        ),
      );
    expect(impure.map(shown)).toEqual([]);
  });

  it(`every file has at most ${MAX_LINES} lines`, () => {
    const long = ["src", "test", "native", "probe", "leak-lab", "bench", "scripts"]
      .flatMap((name) => filesBelow(path.join(root, name), [".ts", ".mjs", ".py", ".cc", ".h", ".c", ".sh"]))
      .filter((file) => readFileSync(file, "utf8").split("\n").length > MAX_LINES + 1);
    expect(long.map(shown)).toEqual([]);
  });

  it(`every Python function of the probe has at most ${MAX_FUNCTION_LINES} lines`, () => {
    const functions = filesBelow(path.join(root, "probe"), [".py"]).flatMap(pythonFunctions);
    expect(functions.length).toBeGreaterThan(100);
    expect(functions.filter(({ lines }) => lines > MAX_FUNCTION_LINES)).toEqual([]);
  });

  it.each(["src", "native", "probe"])(`directories of %s have at most ${MAX_FILES} source files`, (tree) => {
    const sizes = new Map<string, number>();
    const all = filesBelow(path.join(root, tree), [".ts", ".c", ".cc", ".h", ".py", ".cjs"]);
    for (const file of all.filter((one) => !isTest(one))) {
      sizes.set(path.dirname(file), (sizes.get(path.dirname(file)) ?? 0) + 1);
    }
    expect([...sizes].filter(([, size]) => size > MAX_FILES).map(([directory]) => shown(directory))).toEqual([]);
  });

  it("every file that ARCHITECTURE.md names exists", () => {
    const page = readFileSync(path.join(root, "ARCHITECTURE.md"), "utf8");
    const names = [...page.matchAll(/`([\w./-]+\/[\w.-]+\.(?:ts|cc|h|yml))`/g)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => ![root, source].some((base) => existsSync(path.join(base, name))))).toEqual([]);
  });
});
