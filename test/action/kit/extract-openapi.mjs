// Cuts the operations the Action uses out of GitHub's OpenAPI description, with every schema they refer to.
//   npm pack @octokit/openapi@<version> && tar xzf octokit-openapi-*.tgz
//   node test/action/kit/extract-openapi.mjs package > test/action/fixtures/github-openapi.json
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";

const OPERATIONS = [
  ["get", "/repos/{owner}/{repo}/issues/{issue_number}/comments"],
  ["post", "/repos/{owner}/{repo}/issues/{issue_number}/comments"],
  ["patch", "/repos/{owner}/{repo}/issues/comments/{comment_id}"],
  ["delete", "/repos/{owner}/{repo}/issues/comments/{comment_id}"],
  ["get", "/repos/{owner}/{repo}/pulls/{pull_number}"],
];

const folder = process.argv[2] ?? "package";
const text = readFileSync(path.join(folder, "generated/api.github.com.json"), "utf8");
const { version } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
const source = JSON.parse(text);

const resolve = (ref) =>
  ref
    .slice(2)
    .split("/")
    .reduce((node, key) => node[key], source);
const components = {};

/** Copy without prose; every reference followed once. Examples of responses stay: the double answers with them. */
function copy(node, inExample) {
  if (Array.isArray(node)) return node.map((item) => copy(item, inExample));
  if (typeof node !== "object" || node === null) return node;
  if (!inExample && typeof node.$ref === "string") {
    take(node.$ref);
    return { $ref: node.$ref };
  }
  const kept = {};
  for (const [key, value] of Object.entries(node)) {
    const prose =
      ["description", "summary", "externalDocs", "tags", "deprecated"].includes(key) || key.startsWith("x-");
    if (
      !inExample &&
      ((prose && typeof value !== "object") || key === "externalDocs" || key === "tags" || key.startsWith("x-"))
    )
      continue;
    if (!inExample && (key === "example" || (key === "examples" && Array.isArray(value)))) continue;
    kept[key] = copy(value, inExample || key === "value");
  }
  return kept;
}

function take(ref) {
  const [, group, name] = ref.slice(2).split("/");
  components[group] ??= {};
  if (components[group][name] !== undefined) return;
  components[group][name] = {};
  components[group][name] = copy(resolve(ref), group === "examples");
}

const paths = {};
for (const [method, route] of OPERATIONS) {
  paths[route] ??= {};
  paths[route][method] = copy(source.paths[route][method], false);
}

process.stdout.write(
  `${JSON.stringify({
    source: {
      package: "@octokit/openapi",
      version,
      file: "generated/api.github.com.json",
      sha256: createHash("sha256").update(text).digest("hex"),
    },
    openapi: source.openapi,
    paths,
    components,
  })}\n`,
);
