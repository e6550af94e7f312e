import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../src/cli/commands/commands.ts";
import { CONFIG } from "../src/cli/commands/init.ts";
import { type CommandSpec, GLOBAL_OPTIONS } from "../src/cli/console/command.ts";
import { packageRoot } from "../src/core/package-root.ts";
import { METRIC, METRICS } from "../src/telemetry/recording/metrics.ts";
import * as defaults from "../src/verdict/model/defaults.ts";

const root = packageRoot();
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

const PAGES = [
  ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"],
  ...readdirSync(path.join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** The page without its code blocks, whose text is not the page's own. */
const prose = (page: string): string => read(page).replace(/^```[\s\S]*?^```$/gm, "");

/** Anchors of a page as GitHub makes them from its headings. */
function anchors(page: string): readonly string[] {
  return [...prose(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function sourceText(directory: string): string {
  return readdirSync(path.join(root, directory), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(ts|cc|h)$/.test(name) && !name.endsWith(".test.ts"))
    .map((name) => read(path.join(directory, name)))
    .join("\n");
}

describe("the documentation", () => {
  it.each(PAGES)("%s links only to existing files and anchors", (page) => {
    const broken = [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) => {
      if (/^https?:/.test(target)) return [];
      const [file = "", anchor] = target.split("#");
      const linked = file === "" ? page : path.join(path.dirname(page), file);
      if (!existsSync(path.join(root, linked))) return [target];
      return anchor !== undefined && !anchors(linked).includes(anchor) ? [target] : [];
    });
    expect(broken).toEqual([]);
  });

  it("names only codes, variables and constants that the sources have", () => {
    const sources = sourceText("src") + sourceText("native");
    const unknown = PAGES.flatMap((page) =>
      [...prose(page).matchAll(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`/g)]
        .map(([, word = ""]) => word)
        .filter((word) => !sources.includes(word))
        .map((word) => `${page}: ${word}`),
    );
    expect(unknown).toEqual([]);
  });

  it("shows errors by codes that exist", () => {
    const sources = sourceText("src");
    const unknown = PAGES.flatMap((page) =>
      [...read(page).matchAll(/^error ([A-Z_]+):/gm)]
        .map(([, code = ""]) => code)
        .filter((code) => !sources.includes(`"${code}"`)),
    );
    expect(unknown).toEqual([]);
  });

  it("the index links every page of the documentation", () => {
    const pages = PAGES.filter((page) => page.startsWith("docs/") && !page.startsWith("docs/evidence/"));
    const index = read("docs/README.md");
    const unlinked = pages.filter((page) => page !== "docs/README.md" && !index.includes(`(${path.basename(page)})`));
    expect(unlinked).toEqual([]);
    expect(read("README.md")).toContain("(docs/README.md)");
  });

  it("the documentation has at most 24,000 words outside its generated parts", () => {
    const written = /<!-- [^\n]*-->\n[\s\S]*?<!-- (?:end of [^\n]*|\w+: end) -->/g;
    const words = PAGES.filter((page) => /^docs\/[\w-]+\.md$/.test(page)).map(
      (page) => read(page).replace(written, "").split(/\s+/).filter(Boolean).length,
    );
    expect(words.reduce((sum, count) => sum + count, 0)).toBeLessThan(24_000);
  });

  it("defines each term of the glossary once", () => {
    const terms = [...read("docs/glossary.md").matchAll(/^\| ([a-z`][^|]*) \|/gm)].map(([, term]) => term);
    expect(terms.length).toBeGreaterThan(40);
    expect(terms.filter((term, i) => term !== "term" && terms.indexOf(term) !== i)).toEqual([]);
  });

  it("names only npm scripts and files of the project that there are", () => {
    const { scripts }: { scripts: Readonly<Record<string, string>> } = JSON.parse(read("package.json"));
    const unknown = PAGES.flatMap((page) => {
      const text = read(page);
      const run = [...text.matchAll(/npm run (?:-s )?([a-z:]+)/g)].map(([, name = ""]) => name);
      const files = [
        ...text.matchAll(/(?:`|tsx |bash )((?:src|bench|test|scripts|native|leak-lab|docs)\/[\w./-]*\w)/g),
      ];
      return [
        ...run.filter((name) => scripts[name] === undefined),
        ...files.map(([, file = ""]) => file).filter((file) => !existsSync(path.join(root, file))),
      ].map((name) => `${page}: ${name}`);
    });
    expect(unknown).toEqual([]);
  });

  it("pins the Action by the commit of a release wherever a page shows how to use it", () => {
    const examples = [...PAGES, ...["report", "merge", "accept", "refresh"].map((name) => `${name}/README.md`)].flatMap(
      (page) => [...read(page).matchAll(/uses: (stormlog\/gate\S*?@.*)$/gm)].map(([, name]) => `${page}: ${name}`),
    );
    expect(examples.length).toBeGreaterThan(10);
    const form = /: stormlog\/gate(?:\/[a-z]+)?@<40-hex commit> # v1\.\d+\.\d+$/;
    expect(examples.filter((example) => !form.test(example))).toEqual([]);
  });

  it("contains no path of a developer's machine", () => {
    const paths = PAGES.filter((page) => /(?:^|[\s`("'])\/(?:work|home|tmp|root|Users)\//m.test(read(page)));
    expect(paths).toEqual([]);
  });
});

describe("docs/commands.md", () => {
  const page = read("docs/commands.md");

  it("docs/commands.md has every command of the command line and no other", () => {
    const [table = ""] = page.split("\n## ");
    const named = [...table.matchAll(/^\| `([a-z]+)/gm)].map(([, name]) => name);
    expect(named.sort()).toEqual(Object.keys(COMMANDS).sort());
  });

  it("docs/commands.md has every option of every command and no other", async () => {
    const options = new Set(Object.keys(GLOBAL_OPTIONS));
    for (const spec of Object.values(COMMANDS)) for (const name of Object.keys(spec.options)) options.add(name);
    const named = new Set([...page.matchAll(/--([a-z][a-z-]+)/g)].map(([, name]) => name));
    expect([...named].sort()).toEqual([...options].sort());
  });
});

describe("lists that pages state", () => {
  it("docs/commands.md names the commands that take no --config", () => {
    const [, names = ""] = /all but (.*) take `--config FILE`/.exec(read("docs/commands.md")) ?? [];
    const without = Object.values<CommandSpec>(COMMANDS).filter(({ withoutConfig }) => withoutConfig);
    expect([...names.matchAll(/`([a-z]+)`/g)].map(([, name]) => name)).toEqual(without.map(({ name }) => name));
  });

  it("the configuration of init lists every metric that a budget may name", () => {
    const [, list = ""] = /any of these metrics:\n +# +(.*)/.exec(CONFIG) ?? [];
    expect(list.split(", ")).toEqual(METRICS);
  });

  it("ARCHITECTURE.md states what stats imports: no other room, and of packages only distributions", () => {
    const imported = [...sourceText("src/stats").matchAll(/from "([^"]+)"/g)].map(([, name = ""]) => name);
    expect(
      imported.filter((name) => !/^\.\.?\/[\w-]+\.ts$|^\.\/testing\/|^@stdlib\/stats-base-dists-/.test(name)),
    ).toEqual([]);
    expect(read("ARCHITECTURE.md")).toContain("imports no other room, and of packages only distributions");
  });
});

describe("docs/how-verdicts-are-made.md", () => {
  it("states the numbers the verdict uses", () => {
    const { DEFAULT_POLICY, ...constants } = defaults;
    const known: Readonly<Record<string, unknown>> = { ...constants, ...DEFAULT_POLICY };
    const rows = [...read("docs/how-verdicts-are-made.md").matchAll(/^\| `([A-Za-z_]+)` \| ([\d.]+) \|/gm)];
    expect(rows.length).toBeGreaterThan(10);
    for (const [, name = "", value] of rows) expect(known[name], name).toBe(Number(value));
    expect(METRIC.allocated.peakFloorBytes).toBe(2 * 1024 ** 2);
  });
});

describe("docs/security.md", () => {
  it("names tests that exist in every row of its table", () => {
    const rows = read("docs/security.md")
      .split("\n")
      .filter((line) => line.startsWith("| ") && !line.startsWith("| who |"));
    expect(rows.length).toBeGreaterThan(10);
    for (const row of rows) {
      const named = [...(row.split(" | ").at(-1) ?? "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
      expect(named, row).not.toEqual([]);
      const missing = named.filter((name) =>
        [name, `${name}.test.ts`].every((file) =>
          ["test", "src"].every((above) => !existsSync(path.join(root, above, file))),
        ),
      );
      expect(missing, row).toEqual([]);
      // What the wall alone holds is shown behind it.
      const [walled = "", , neither = ""] = row.split(" | ").slice(2);
      if (walled === "no" && !neither.startsWith("no")) expect(named, row).toContain("attacks/wall");
    }
  });
});
