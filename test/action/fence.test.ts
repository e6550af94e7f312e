import "../testing/property-seed.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { raiseCommandFence } from "../../src/actions/stop-commands.ts";
import { parseCommands } from "./testing/mini-runner.ts";

const OURS = "::notice::ours\n";
const ACTED = [{ command: "notice", properties: {}, message: "ours" }];

/** The commands that a runner obeys in fenced output, with one of the step's own commands after it. */
function obeyed(chunks: readonly (string | Uint8Array)[]): ReturnType<typeof parseCommands> {
  const written: Buffer[] = [];
  const write = (chunk: string | Uint8Array): void => void written.push(Buffer.from(chunk));
  const fence = raiseCommandFence(write);
  for (const chunk of chunks) fence.write(chunk);
  fence.close();
  write(OURS);
  return parseCommands(Buffer.concat(written).toString("utf8"));
}

describe("output behind the fence", () => {
  it.each([
    ["a command", "::error::x\n"],
    ["a command without its line end", "::set-output name=verdict::pass"],
    ["an indented one", "   ::add-mask::pass\n\t::error::x\n"],
    ["one behind a carriage return", "progress 10 %\r::error::x\rprogress 20 %\r"],
    ["a last carriage return", "100 %\r"],
    ["the older form, anywhere in a line", "text ##[set-output name=verdict]pass\n##[group]x\n##[error]y"],
    ["its own fence", "::stop-commands::mine\n::mine::\n::error::x\n"],
    ["its own fence without an end", "::stop-commands::mine\n"],
    ["a guess at ours", `${"::stormlog-::\n".repeat(50)}::STORMLOG-${"0".repeat(48)}::\n::error::x\n`],
    ["matchers", "::add-matcher::/tmp/m.json\n::remove-matcher owner=x::\n::debug::x\n::echo::on\n"],
    ["a half character", new Uint8Array([0x61, 0xe2])],
    ["every byte there is", Uint8Array.from({ length: 256 }, (_, n) => n)],
    ["nothing", ""],
  ])("does nothing: %s", (_name, output) => {
    expect(obeyed([output])).toEqual(ACTED);
  });

  it("fenced output never acts, whatever it contains and wherever it is split", () => {
    const piece = fc.constantFrom(
      "::",
      "error",
      "::error::x",
      "stop-commands",
      "##[",
      "]",
      "\r",
      "\n",
      " ",
      "\t",
      "x",
      "stormlog-",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.array(fc.nat(200), { maxLength: 8 }), (pieces, cuts) => {
        const bytes = Buffer.from(pieces.join(""));
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const chunks = places.slice(1).map((to, at) => bytes.subarray(places[at], to));
        expect(obeyed(chunks)).toEqual(ACTED);
      }),
      { numRuns: 500 },
    );
  });

  it("unfenced output acts, so that the parser of this test is a real one", () => {
    for (const text of ["::error::x", "a\r  ::error::x", "text ##[error]x"])
      expect(parseCommands(text)).toHaveLength(1);
  });
});
