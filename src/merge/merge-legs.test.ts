import { describe, expect, it } from "vitest";
import { compareNames } from "../core/text.ts";
import { absentLegs, legNames, parseExpected } from "./merge-legs.ts";

describe("the expected legs", () => {
  it("parseExpected reads a number of legs or a list of their names", () => {
    expect(parseExpected(" 4 ")).toEqual({ kind: "count", count: 4 });
    expect(parseExpected("linux, mac\nmac")).toEqual({ kind: "names", names: ["linux", "mac"] });
    expect(parseExpected("16384")).toEqual({ kind: "count", count: 16_384 });
    expect(parseExpected("3,4")).toEqual({ kind: "names", names: ["3", "4"] });
  });

  it.each(["", " , ", "0", "1000001", "99999999999999999999"])("parseExpected refuses %j", (text) => {
    expect(() => parseExpected(text)).toThrow(expect.objectContaining({ code: "EXPECT_INVALID", kind: "usage" }));
  });

  it("yields the missing legs, by name where names are known", () => {
    expect(absentLegs(null, [])).toEqual([]);
    expect(absentLegs(parseExpected("2"), ["a", "b", "c"])).toEqual([]);
    expect(absentLegs(parseExpected("3"), ["a"])).toEqual([
      { name: "2 missing legs", message: "2 of 3 expected legs did not report" },
    ]);
    expect(absentLegs(parseExpected("a,b"), ["b"]).map(({ name }) => name)).toEqual(["a"]);
  });
});

describe("names of legs", () => {
  it("legNames returns the shortest unique ends of the legs' paths", () => {
    expect(legNames(["/w/linux", "/w/mac"])).toEqual(["linux", "mac"]);
    expect(legNames(["/w/linux/stormlog-bundle", "/w/mac/stormlog-bundle"])).toEqual(["linux", "mac"]);
    expect(legNames(["/w/a/gpu", "/w/b/gpu", "/w/cpu"])).toEqual(["a/gpu", "b/gpu", "cpu"]);
    expect(legNames(["/w/stormlog-bundle"])).toEqual(["stormlog-bundle"]);
    expect(legNames(["/a/b", "/b"])).toEqual(["a/b", "b"]);
  });

  it("compareNames sorts numbers in names by their value", () => {
    expect(["n10", "N2", "n2", "n1"].sort(compareNames)).toEqual(["n1", "n2", "N2", "n10"]);
  });
});
