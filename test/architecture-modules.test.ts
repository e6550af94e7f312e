import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../src/core/package-root.ts";

/** More than these delay the measured command, which waits until the gate is loaded. */
const MAX_MODULES = 150;

describe("what `stormlog-gate run` loads before it measures", () => {
  let loaded: readonly string[];

  beforeAll(async () => {
    const { metafile } = await build({
      absWorkingDir: packageRoot(),
      entryPoints: ["src/cli/main.ts"],
      outdir: "build/none",
      write: false,
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      packages: "external",
      metafile: true,
    });
    const found = new Set<string>();
    const open = ["src/cli/main.ts", "src/cli/commands/run.ts"];
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      const imports = metafile.inputs[file]?.imports ?? [];
      if (found.has(file)) continue;
      found.add(file);
      open.push(
        ...imports.filter(({ kind, external }) => kind === "import-statement" && !external).map(({ path }) => path),
      );
    }
    loaded = [...found];
  });

  it(`stormlog-gate run loads at most ${MAX_MODULES} modules of the project before it measures`, () => {
    expect(loaded.filter((file) => file.startsWith("src/")).length).toBeLessThanOrEqual(MAX_MODULES);
  });

  it("contains no renderer, no analysis and no reader of snapshots", () => {
    const late =
      /^src\/(?:report\/(?:markdown|timeline|documents\/(?!model))|snapshot|lab|merge|nightly|analysis\/analyze)/;
    expect(loaded.filter((file) => late.test(file))).toEqual([]);
  });
});
