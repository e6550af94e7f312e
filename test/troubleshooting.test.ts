import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { errorCodes } from "../scripts/reference/codes.ts";
import { sourceFiles } from "../scripts/reference/source-files.ts";
import { packageRoot } from "../src/core/package-root.ts";

const root = packageRoot();
const page = readFileSync(path.join(root, "docs/troubleshooting.md"), "utf8");

const sources = sourceFiles();

describe("the page of troubles", () => {
  it("docs/troubleshooting.md has every error code of the sources", () => {
    expect(errorCodes().length).toBeGreaterThan(120);
    expect(errorCodes().filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
  });

  it("docs/troubleshooting.md has every attempt whose failure is a warning", () => {
    const attempts = sources.flatMap(({ text }) =>
      [...text.matchAll(/\bwhat: ["`]([^"`$]+)/g)].map(([, what = ""]) => what.trim()),
    );
    expect(attempts.length).toBeGreaterThan(8);
    expect(attempts.filter((what) => !page.includes(`Could not ${what}`))).toEqual([]);
  });

  it("docs/troubleshooting.md has the text of every known reason for a failed upload", () => {
    const { text } = sources.find(({ name }) => name.endsWith("github/artifacts/artifact.ts")) ?? { text: "" };
    const reasons = [...text.matchAll(/\/i,\s*"([a-z][^("`$.]+)/gi)].map(([, words = ""]) => words.trim());
    expect(reasons).toHaveLength(3);
    expect(reasons.filter((words) => !page.includes(words))).toEqual([]);
  });
});

describe("the page of permissions", () => {
  it("docs/permissions.md has every permission that a warning requests", () => {
    const permissions = readFileSync(path.join(root, "docs/permissions.md"), "utf8");
    const asked = new Set(
      sources.flatMap(({ text }) =>
        [...text.matchAll(/permission: "([a-z-]+: [a-z]+)"/g)].map(([, name = ""]) => name),
      ),
    );
    expect(asked.size).toBeGreaterThan(3);
    expect([...asked].filter((name) => !permissions.includes(`\`${name}\``))).toEqual([]);
  });
});
