import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ProbeProcess } from "../recording/model.ts";
import { parseProbeInfo } from "./probe-info.ts";
import { MAX_PHASES, withPhases } from "./probe-phases.ts";

const infoOf = (lines: string) => parseProbeInfo(`pid=5\n${lines}`)!;
const phasesOf = (lines: string) => infoOf(lines).phases;
const PROCESS: ProbeProcess = infoOf("").process;

describe("phases of an info file", () => {
  it("phases are in the order of their numbers, for any order of the lines", () => {
    expect(phasesOf("phase.10=300 - third\nphase.2=200 250 second\nphase.0=100 900 the first")).toEqual({
      phases: [
        { name: "the first", began: 100n, ended: 900n },
        { name: "second", began: 200n, ended: 250n },
        { name: "third", began: 300n, ended: null },
      ],
      dropped: 0,
    });
  });

  it("restore the escaped characters of a name", () => {
    expect(phasesOf("phase.0=1 2 100 %25, %2541 = %0Atwo").phases[0]?.name).toBe("100 %, %41 =  two");
  });

  it.each([
    ["no moment", "phase.0=- 5 x"],
    ["a time that is not a number", "phase.0=-5 5 x"],
    ["an end before its beginning", "phase.0=6 5 x"],
    ["no name", "phase.0=5 6 \t "],
    ["a number beyond what a process may keep", `phase.${MAX_PHASES}=5 6 x`],
    ["a line that was cut", "phase.0=5"],
    ["a number of another kind", "phase.-1=5 6 x\nphase.1e1=5 6 x\nphase.=5 6 x"],
  ])("phases with %s are left out", (_, line) => {
    expect(phasesOf(`${line}\nphase.1=1 2 good`).phases.map(({ name }) => name)).toEqual(["good"]);
  });

  it("the names of phases are bounded text without control characters, for any file", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (name) => {
        for (const phase of phasesOf(`phase.0=1 2 ${name}`).phases) {
          expect([...phase.name].length).toBeLessThanOrEqual(80);
          expect(phase.name).not.toMatch(/[\p{Cc}\p{Cs}]/u);
        }
      }),
    );
  });

  it("include the number of further ones", () => {
    expect(phasesOf("phases_dropped=744").dropped).toBe(744);
    expect(phasesOf("phases_dropped=many").dropped).toBe(0);
  });
});

describe("phases in a recording", () => {
  it("phases in a recording are on the clock of the recording", () => {
    const process = withPhases(
      PROCESS,
      phasesOf("phase.0=1000000005 1000000009 a\nphase.1=1000000007 - b"),
      1_000_000_000n,
    );
    expect(process.phases).toEqual([
      { name: "a", began_ns: 5, ended_ns: 9 },
      { name: "b", began_ns: 7, ended_ns: null },
    ]);
    expect(process).not.toHaveProperty("phases_dropped");
  });

  it("exclude those before its begin or beyond any clock, and are absent without any", () => {
    const lines = "phase.0=5 2000000000 early\nphase.1=1000000001 9999999999999999999 late";
    expect(withPhases(PROCESS, phasesOf(lines), 1_000_000_000n)).toEqual(PROCESS);
  });
});
