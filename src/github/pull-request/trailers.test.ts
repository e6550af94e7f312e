import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costRatio, MAX_LINEAR_RATIO } from "../../core/testing/cost-ratio.ts";
import { commandsOf, descriptionLinesOf, type ReadLine, trailersOf } from "./trailers.ts";

const TOKEN = "3f9a2c1d04be-dapb187";

const taken = (lines: readonly ReadLine[]) => lines.flatMap((one) => (one.kind === "acceptance" ? [one.line] : []));
const complaints = (lines: readonly ReadLine[]) => lines.flatMap((one) => (one.kind === "malformed" ? [one.why] : []));

describe("a command in a comment", () => {
  it("a command in a comment is a separate line, among other lines", () => {
    expect(
      taken(commandsOf(`Looks right.\r\n/stormlog accept ${TOKEN} larger cache, see the design\r\nThanks!`)),
    ).toEqual([{ difference: TOKEN, reason: "larger cache, see the design", headSha: null }]);
  });

  it("a command in a comment may name a commit", () => {
    expect(taken(commandsOf(`/stormlog accept ${TOKEN} @ABCDEF1 bigger batch`))).toEqual([
      { difference: TOKEN, reason: "bigger batch", headSha: "abcdef1" },
    ]);
  });

  it("a command in a comment may have the ticks that the token was copied with", () => {
    expect(taken(commandsOf(`/stormlog accept \`${TOKEN}\` wanted`))).toMatchObject([{ difference: TOKEN }]);
  });

  it("a comment may have several commands", () => {
    const text = `/stormlog accept ${TOKEN} a reason\n/stormlog accept 000000000000-policy another`;
    expect(taken(commandsOf(text)).map(({ reason }) => reason)).toEqual(["a reason", "another"]);
  });

  it.each([
    ["", /no difference/],
    ["all of it", /copy it/],
    [TOKEN, /no reason/],
    [`${TOKEN} @abcdef1`, /no reason/],
    [`${TOKEN} …!`, /no reason/],
    ["<img src=x> y", /copy it/],
    ...["\u3164", "\uffa0", "\u115f\u1160", "\u2800", "\u{13441}\u{13442}", "\u200b\u034f\ufe0f\u{e0061}"].map(
      (blank): [string, RegExp] => [`${TOKEN} ${blank}`, /no reason/],
    ),
  ])("a command in a comment is refused with the reason for %j", (rest, why) => {
    const read = commandsOf(`/stormlog accept ${rest}`);
    expect(taken(read)).toEqual([]);
    expect(complaints(read)).toMatchObject([expect.stringMatching(why)]);
  });

  it.each([
    ["quoted", `> /stormlog accept ${TOKEN} wanted`],
    ["in the middle of a line", `please /stormlog accept ${TOKEN} wanted`],
    ["in a code block", `\`\`\`\n/stormlog accept ${TOKEN} wanted\n\`\`\``],
    ["in an open code block", `~~~~\n~~~\n/stormlog accept ${TOKEN} wanted`],
    ["in an indented block", `    /stormlog accept ${TOKEN} wanted`],
    ["in a code span", `\`/stormlog accept ${TOKEN} wanted\``],
    ["in an HTML comment", `<!-- hidden\n/stormlog accept ${TOKEN} wanted\n-->`],
    ["another word", `/stormlog acceptance ${TOKEN} wanted`],
    ["another command", `/stormlog rerun ${TOKEN}`],
    ["another robot's", `/other accept ${TOKEN} wanted`],
  ])("a line of a comment is not a command when it is %s", (_what, text) => {
    expect(commandsOf(text)).toEqual([]);
  });

  it("a command counts again after a code block and after an HTML comment", () => {
    const text = `\`\`\`\ncode\n\`\`\`\n<!-- x -->\n/stormlog accept ${TOKEN} wanted`;
    expect(taken(commandsOf(text))).toHaveLength(1);
  });

  it("the readers of acceptances do not throw, for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (text) => {
        commandsOf(text);
        descriptionLinesOf(text);
        trailersOf(text);
      }),
    );
  });

  it.each([
    ["letters", "", "a"],
    ["parts of a token", `${"0".repeat(12)}-`, "dapb1-"],
  ])("commandsOf takes time linear in the number of %s", (_name, start, text) => {
    const read = (count: number) => commandsOf(`/stormlog accept ${start}${text.repeat(count)} x`);
    expect(costRatio(read, 20_000, 160_000)).toBeLessThan(MAX_LINEAR_RATIO);
  });
});

describe("a line of the description", () => {
  it("a line of the description is read whatever its letters' case", () => {
    expect(taken(descriptionLinesOf(`Text\n\nStormlog-Accept: ${TOKEN} larger cache`))).toHaveLength(1);
    expect(complaints(descriptionLinesOf("stormlog-accept:"))).toHaveLength(1);
  });
});

describe("a trailer of a commit", () => {
  it("a trailer of a commit is found in the last paragraph", () => {
    expect(
      taken(trailersOf(`Larger cache\n\nWhy.\n\nStormlog-Accept: ${TOKEN} larger cache\nSigned-off-by: A <a@b>`)),
    ).toEqual([{ difference: TOKEN, reason: "larger cache", headSha: null }]);
  });

  it("a trailer of a commit may go on in the next line", () => {
    expect(taken(trailersOf(`Subject\n\nStormlog-Accept: ${TOKEN}\n  a long\n  reason\n`))).toMatchObject([
      { reason: "a long reason" },
    ]);
  });

  it.each([
    ["in the subject", `Stormlog-Accept: ${TOKEN} wanted`],
    ["in an earlier paragraph", `Subject\n\nStormlog-Accept: ${TOKEN} wanted\n\nMore text.`],
    ["in a paragraph of prose", `Subject\n\nProse before it.\nStormlog-Accept: ${TOKEN} wanted`],
  ])("a trailer of a commit does not count %s", (_what, message) => {
    expect(trailersOf(message)).toEqual([]);
  });
});
