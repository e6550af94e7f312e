// Cuts the operations the Action uses out of GitHub's OpenAPI description, with every schema they refer to.
//   npm pack @octokit/openapi@<version> && tar xzf octokit-openapi-*.tgz
//   node test/action/testing/extract-openapi.mjs package > test/action/fixtures/github-openapi.json
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";

const OPERATIONS = [
  ["get", "/repos/{owner}/{repo}/issues/{issue_number}/comments"],
  ["post", "/repos/{owner}/{repo}/issues/{issue_number}/comments"],
  ["get", "/repos/{owner}/{repo}/issues/comments/{comment_id}"],
  ["patch", "/repos/{owner}/{repo}/issues/comments/{comment_id}"],
  ["delete", "/repos/{owner}/{repo}/issues/comments/{comment_id}"],
  ["post", "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions"],
  ["get", "/repos/{owner}/{repo}/issues"],
  ["post", "/repos/{owner}/{repo}/issues"],
  ["get", "/repos/{owner}/{repo}/issues/{issue_number}"],
  ["patch", "/repos/{owner}/{repo}/issues/{issue_number}"],
  ["get", "/repos/{owner}/{repo}/issues/{issue_number}/events"],
  ["get", "/repos/{owner}/{repo}/pulls"],
  ["post", "/repos/{owner}/{repo}/pulls"],
  ["get", "/repos/{owner}/{repo}/pulls/{pull_number}"],
  ["patch", "/repos/{owner}/{repo}/pulls/{pull_number}"],
  ["get", "/repos/{owner}/{repo}/pulls/{pull_number}/commits"],
  ["get", "/repos/{owner}/{repo}/commits/{commit_sha}/pulls"],
  ["get", "/repos/{owner}/{repo}/commits/{ref}"],
  ["get", "/repos/{owner}/{repo}/commits"],
  ["get", "/repos/{owner}/{repo}/compare/{basehead}"],
  ["get", "/repos/{owner}/{repo}/collaborators/{username}/permission"],
  ["get", "/repos/{owner}/{repo}"],
  ["get", "/repos/{owner}/{repo}/git/ref/{ref}"],
  ["get", "/repos/{owner}/{repo}/git/matching-refs/{ref}"],
  ["post", "/repos/{owner}/{repo}/git/refs"],
  ["patch", "/repos/{owner}/{repo}/git/refs/{ref}"],
  ["delete", "/repos/{owner}/{repo}/git/refs/{ref}"],
  ["get", "/repos/{owner}/{repo}/git/commits/{commit_sha}"],
  ["post", "/repos/{owner}/{repo}/git/commits"],
  ["get", "/repos/{owner}/{repo}/git/trees/{tree_sha}"],
  ["post", "/repos/{owner}/{repo}/git/trees"],
  ["get", "/repos/{owner}/{repo}/git/blobs/{file_sha}"],
  ["post", "/repos/{owner}/{repo}/git/blobs"],
  ["get", "/repos/{owner}/{repo}/contents/{path}"],
  ["get", "/repos/{owner}/{repo}/branches/{branch}"],
  ["get", "/repos/{owner}/{repo}/actions/runs/{run_id}"],
  ["get", "/repos/{owner}/{repo}/actions/runs"],
  ["get", "/repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs"],
  ["get", "/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts"],
  ["get", "/repos/{owner}/{repo}/actions/artifacts/{artifact_id}"],
  ["get", "/repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}"],
  ["post", "/repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs"],
  ["get", "/repos/{owner}/{repo}/actions/runs/{run_id}/jobs"],
  ["post", "/repos/{owner}/{repo}/statuses/{sha}"],
  ["post", "/markdown"],
];

const directory = process.argv[2] ?? "package";
const text = readFileSync(path.join(directory, "generated/api.github.com.json"), "utf8");
const { version } = JSON.parse(readFileSync(path.join(directory, "package.json"), "utf8"));
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
