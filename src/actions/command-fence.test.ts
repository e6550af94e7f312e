import { describe, expect, it } from "vitest";
import { raiseCommandFence } from "./stop-commands.ts";

function recorded() {
  let text = "";
  const fence = raiseCommandFence((chunk) => {
    text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
  });
  return { fence, text: () => text };
}

describe("the command fence", () => {
  it("opens with a token the child cannot know and ends with it on a line of its own", () => {
    const { fence, text } = recorded();
    fence.write(Buffer.from("::error::spoofed"));
    fence.close();
    const [first, spoofed, last] = text().split("\n");
    const token = /^::stop-commands::(stormlog-[0-9a-f]{48})$/.exec(first ?? "")?.[1];
    expect(token).toBeDefined();
    expect(spoofed).toBe("::error::spoofed");
    expect(last).toBe(`::${token}::`);
  });

  it("adds no empty line after output that ended its own", () => {
    const { fence, text } = recorded();
    fence.write("line\n");
    fence.close();
    expect(text()).toMatch(/\nline\n::stormlog/);
  });

  it("drops what comes after it was taken down, and closes once", () => {
    const { fence, text } = recorded();
    fence.close();
    const before = text();
    fence.write("::error::late\n");
    fence.close();
    expect(text()).toBe(before);
  });

  it("uses a new token every time", () => {
    expect(recorded().text()).not.toBe(recorded().text());
  });
});
