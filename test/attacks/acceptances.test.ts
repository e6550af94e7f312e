import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readAcceptances } from "../../src/github/pull-request/acceptances.ts";
import { commandsOf, descriptionLinesOf, type ReadLine } from "../../src/github/pull-request/trailers.ts";
import { unpacedClient } from "../action/testing/client.ts";
import { type DoubleCommit, Permissions } from "../action/testing/double/permissions.ts";
import { openPull } from "../action/testing/double/pull-lookup.ts";
import { GitHubDouble } from "../action/testing/github-double.ts";

/** Acceptances that were not meant by a person with write permission. */

const PR = 12;
const HEAD = "a".repeat(40);
const TOKEN = "3f9a2c1d04be-dapb187";
const COMMAND = `/stormlog accept ${TOKEN} wanted`;
const LINE = `stormlog-accept: ${TOKEN} wanted`;

const counted = (lines: readonly ReadLine[]) => lines.filter(({ kind }) => kind === "acceptance").length;

/** Texts with LINE where a renderer hides it, or shows it as a quotation or as code. */
const NOT_SAID: readonly (readonly [string, string])[] = [
  ["in details", `<details><summary>Log</summary>\n\n${LINE}\n\n</details>`],
  ["in details that look closed in a span of code", `<details>\n\n\`</details>\`\n\n${LINE}\n\n</details>`],
  ["in details that look closed in a fence", `<details>\n\n\`\`\`\n</details>\n\`\`\`\n\n${LINE}\n`],
  ["in details that begin after an escaped tick", `\\\`<details>\`\n\n${LINE}\n`],
  ["in details that begin between two spans of code", `\` a\n\` <details> \`b\`\n\n${LINE}\n`],
  ["in pre", `<pre>\n${LINE}\n</pre>`],
  ["in pre after an empty line", `<pre>\n\n${LINE}\n</pre>`],
  ["in code", `<code>\n${LINE}\n</code>`],
  ["in code with an attribute", `text <code class="x">\n${LINE}\n</code>`],
  ["in a fence of a list item", `- item\n  \`\`\`\n  ${LINE}\n  \`\`\``],
  ["in a fence of a numbered item", `1. \`\`\`\n   ${LINE}\n   \`\`\``],
  ["in an indented fence, after an empty line", `  \`\`\`\n\n${LINE}\n  \`\`\``],
  ["in a fence of a quotation", `> \`\`\`\n> ${LINE}\n> \`\`\``],
  ["in a fence that a list item's open fence seems to close", `- x\n  \`\`\`\n\ntext\n\n\`\`\`\n${LINE}\n\`\`\``],
  ["in a fence that a quotation's fence seems to close", `> ~~~\n\n~~~\n${LINE}\n~~~`],
  ["in a fence closed by a no-break space", `\`\`\`\n\`\`\`\u00a0\n${LINE}\n\`\`\``],
  ["in a fence whose name has a line separator", `\`\`\`a\u2028b\n${LINE}\n\`\`\``],
  ["in a fence of tildes named with ticks", `~~~ a\`b\n${LINE}\n~~~`],
  ["in a fence within a longer one", `\`\`\`\`\n\`\`\`\n${LINE}\n\`\`\`\n\`\`\`\``],
  ["in an indented block", `text\n\n    ${LINE}`],
  ["behind a tab", `\t${LINE}`],
  ["in a list item", `- item\n\n  ${LINE}`],
  ["in the paragraph of a list item", `- item\n${LINE}`],
  ["in the second paragraph of a list item", `* a\n\n  b\n${LINE}`],
  ["in the second paragraph of a numbered item", `10) a\n\n    b\n${LINE}`],
  ["in the second paragraph of a nested item", `- a\n  - b\n\n\tc\n${LINE}`],
  ["in the second paragraph of a footnote", `x[^1]\n\n[^1]: y\n\n    z\n${LINE}`],
  ["in the paragraph of a quotation", `> quoted\n${LINE}`],
  ["in the paragraph of a quotation, behind a no-break space", `> quoted\n\u00a0\n${LINE}`],
  ["in the paragraph of a footnote", `x[^1]\n\n[^1]: y\n${LINE}`],
  ["in a span of code over three lines", `text \`code\n${LINE}\nend\` text`],
  ["in a formula", `$$\n${LINE}\n$$`],
  ["in the title of a link definition", `[foo]: /url "\n${LINE}\n"`],
  ["in the title of a link", `[foo](/url "\n${LINE}\n")`],
  ["in the description of a picture", `![alt\n${LINE}\n](x.png)`],
  ["in struck text", `~~\n${LINE}\n~~`],
  ["in a table", `a | b\n--|--\n${LINE}`],
  ["in a comment", `<!--\n${LINE}\n-->`],
  ["in a comment within a line", `text <!-- hidden\n${LINE}\n-->`],
  ["in a second comment", `<!-- a --> <!-- b\n${LINE}\n-->`],
  ["in a comment that follows another's end", `<!--\n--> <!--\n${LINE}\n-->`],
  ["in a comment that a fence seems to close", `\`<!--\`\n\n\`\`\`\n-->\n${LINE}\n\`\`\``],
  ["in a comment that ended early for a browser", `<!-- --!> <details> -->\n\n${LINE}`],
  ["in a comment within an element's block", `<img src=x>\n<!-- a\n\n\`\`\`\n-->\n${LINE}\n\`\`\``],
  ["in a fence that one within an element's block seems to begin", `<img src=x>\n\`\`\`\n\n\`\`\`\n${LINE}\n\`\`\``],
  ["in an attribute of a picture", `<img alt=">\n${LINE}\n">`],
  ["in an unfinished tag", `<y\n${LINE}\n>`],
  ["in a processing instruction", `<?php\n${LINE}\n?>`],
  ["in a declaration", `<!X\n${LINE}\n>`],
  ["in CDATA", `<![CDATA[\n${LINE}\n]]>`],
  ["in the style of a page", `<style>\n${LINE}\n</style>`],
];

describe("a text whose author does not say what its lines say", () => {
  it.each(NOT_SAID)("a description accepts nothing %s", (_where, text) => {
    expect(counted(descriptionLinesOf(text))).toBe(0);
  });

  it.each(NOT_SAID)("a comment accepts nothing %s", (_where, text) => {
    expect(counted(commandsOf(text.replaceAll(LINE, COMMAND)))).toBe(0);
  });

  it.each([
    ["after a paragraph", `Looks right.\r\n${COMMAND}\r\nThanks!`],
    ["after a quotation and an empty line", `> quoted\n\n${COMMAND}`],
    ["after a list and an empty line", `- [x] done\n- [ ] open\n\n${COMMAND}`],
    ["after a code block", `\`\`\`python\n<details>\n\`\`\`\n${COMMAND}`],
    ["after a template's comment", `<!-- Please describe\n\nyour change -->\n\n${COMMAND}`],
    ["after a pasted picture", `<img width="10" height="20" alt="a b" src="https://x.example/y.png" />\n\n${COMMAND}`],
    [
      "after a link and a span of code",
      `See [design](https://x.example/a) and \`List<str>\`, <https://x.example>.\n${COMMAND}`,
    ],
    ["after another command", `${COMMAND}\n${COMMAND}`],
  ])("a comment accepts %s", (_where, text) => {
    expect(counted(commandsOf(text))).toBeGreaterThan(0);
  });

  it("a line that does not count is answered with the reason", () => {
    expect(descriptionLinesOf(`<details>\n\n${LINE}`)).toEqual([
      { kind: "malformed", difference: TOKEN, why: expect.stringContaining("below HTML") },
    ]);
  });
});

describe("a pull request that borrows an acceptance", () => {
  const SECOND = "2026-09-01T10:00:00Z";
  const message = (reason: string) => `Larger cache\n\nStormlog-Accept: ${TOKEN} ${reason}`;
  let github: GitHubDouble;
  let people: Permissions;
  let edited: string | null;

  beforeEach(async () => {
    github = new GitHubDouble();
    people = new Permissions();
    edited = null;
    github.use(people.routes);
    github.graphQl = (query) => {
      if (query.includes("IssueComment")) return { data: { node: { lastEditedAt: edited } } };
      return query.includes("pullRequest(")
        ? { data: { repository: { pullRequest: { lastEditedAt: edited } } } }
        : null;
    };
    await github.start();
    github.tokens.set("job", { login: "github-actions[bot]", write: false });
    people.roles.set("owner", "admin");
    people.roles.set("mallory", "read");
  });

  afterEach(async () => {
    await github.stop();
    expect(github.faults).toEqual([]);
  });

  const read = async () => readAcceptances({ octokit: unpacedClient(github), owner: "octo", repo: "model" }, PR);

  function open(body: string, more: { readonly headRepo?: string; readonly author?: string } = {}): void {
    openPull(github, { number: PR, headSha: HEAD, author: "mallory", ...more });
    const pull = github.pulls.all.get(PR);
    const [label] = github.contract.example("pull-request").labels as readonly object[];
    const labels = [{ ...label, name: "stormlog-accept" }];
    if (pull !== undefined) github.pulls.all.set(PR, { ...pull, overrides: { ...pull.overrides, body, labels } });
    people.events.set(PR, [{ event: "labeled", label: "stormlog-accept", actor: "owner", createdIso: SECOND }]);
  }

  it.each([
    ["before the label's second", "2026-09-01T09:59:59Z", 1],
    ["in the label's second", SECOND, 0],
    ["after it", "2026-09-01T10:00:01Z", 0],
    ["at a time that cannot be read", "soon", 0],
  ])("a description edited %s counts as it was when the label was set", async (_when, when, count) => {
    open(LINE);
    edited = when;
    expect((await read()).accepted).toHaveLength(count);
  });

  it("a comment that was edited after it was written accepts nothing, also by its own author", async () => {
    open("");
    const comment = github.addComment(PR, "owner", COMMAND, SECOND);
    expect((await read()).accepted).toHaveLength(1);
    comment.updatedIso = "2026-09-01T11:00:00Z";
    edited = comment.updatedIso;
    expect(await read()).toMatchObject({
      accepted: [],
      refused: [{ why: expect.stringContaining("write a new one") }, {}],
    });
  });

  const [OTHERS, BASE] = ["b".repeat(40), "c".repeat(40)];
  const signed = { author: "owner", verified: true } as const;
  const merged: readonly DoubleCommit[] = [
    { sha: OTHERS, message: message("wanted"), ...signed, parents: [BASE] },
    { sha: HEAD, message: "Merge", author: "mallory", parents: ["d".repeat(40), OTHERS] },
  ];
  const built: readonly DoubleCommit[] = [
    { sha: OTHERS, message: message("wanted"), ...signed, parents: [BASE] },
    { sha: HEAD, message: "Leak", author: "mallory", parents: [OTHERS] },
  ];

  it.each([
    ["a fork merges a maintainer's signed trailer", merged, { headRepo: "mallory/model" }, 0],
    ["a fork builds on a maintainer's signed trailer", built, { headRepo: "mallory/model" }, 0],
    ["a maintainer's own fork has it as its history", built, { headRepo: "owner/model", author: "owner" }, 1],
    ["a maintainer's own fork merges it from elsewhere", merged, { headRepo: "owner/model", author: "owner" }, 0],
    ["a branch of the repository merges it from elsewhere", merged, {}, 0],
    ["a branch of the repository has it as its history", built, {}, 1],
  ])("an acceptance counts for its own pull request alone when %s", async (_how, commits, more, count) => {
    open("", more);
    people.commits.set(PR, [...commits]);
    const { accepted, refused } = await read();
    expect(accepted).toHaveLength(count);
    if (count === 0) expect(refused.at(-1)?.why).toContain(`#${PR} <reason>`);
  });

  it("a signed trailer that a maintainer pushed to a contributor's fork counts when it names the pull request", async () => {
    open("", { headRepo: "mallory/model" });
    for (const [reason, count] of [
      ["#12 larger cache", 1],
      ["#13 larger cache", 0],
      ["#123 larger cache", 0],
    ] as const) {
      people.commits.set(PR, [{ sha: HEAD, message: message(reason), ...signed }]);
      expect((await read()).accepted, reason).toHaveLength(count);
    }
    people.commits.set(PR, [{ sha: HEAD, message: message("#12 larger cache"), author: "owner" }]);
    expect((await read()).accepted).toEqual([]);
  });
});
