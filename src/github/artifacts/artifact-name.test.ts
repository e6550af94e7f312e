import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { artifactNames, matrixLeg, safeArtifactName } from "./artifact-name.ts";

describe("artifact names", () => {
  it("artifact names keep what the service takes and replace what it refuses", () => {
    expect(safeArtifactName("stormlog-default")).toBe("stormlog-default");
    expect(safeArtifactName('a/b\\c:d*e?f"g<h>i|j\r\nk')).toBe("a-b-c-d-e-f-g-h-i-j--k");
    expect(safeArtifactName("..")).toBe("stormlog");
    expect(safeArtifactName("  ")).toBe("stormlog");
  });

  it("artifact names are valid for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
        const name = safeArtifactName(text);
        expect(name).not.toMatch(/["<>|*?\\/:\r\n]/);
        expect(name.length).toBeGreaterThan(0);
        expect(name.length).toBeLessThanOrEqual(120);
      }),
    );
  });

  it("artifact names that are long stay different", () => {
    expect(safeArtifactName(`${"x".repeat(200)}1`)).not.toBe(safeArtifactName(`${"x".repeat(200)}2`));
  });

  it("artifact names carry the attempt when the plain name is taken", () => {
    expect(artifactNames("gate", 1)).toEqual(["gate", "gate-2", "gate-3", "gate-4"]);
    expect(artifactNames("gate", 3).slice(0, 3)).toEqual(["gate", "gate-attempt-3", "gate-attempt-3-2"]);
  });
});

describe("matrixLeg", () => {
  it("joins the values of a matrix", () => {
    expect(matrixLeg('{"os":"linux","torch":2.5,"fast":true}')).toBe("linux-2.5-true");
    expect(matrixLeg('{"os":"ubuntu-24.04"}')).toBe("ubuntu-24.04");
  });

  it("distinguishes legs whose values differ in what a name cannot have", () => {
    const values = ["numpy<2", "numpy>=2", "c++", "c", "-1", "1", "日本", "中国", "", ["--fast"], ["fast"], { a: 1 }];
    const legs = values.map((value) => matrixLeg(JSON.stringify({ value })));
    expect(new Set(legs).size).toBe(values.length);
    for (const leg of legs) expect(leg).toMatch(/^[A-Za-z0-9._][A-Za-z0-9._-]*$/);
    expect(matrixLeg('{"value":"numpy<2"}')).toMatch(/^numpy-2-[0-9a-f]{8}$/);
  });

  it("distinguishes two long legs", () => {
    const leg = (end: string) => matrixLeg(JSON.stringify({ image: `${"nvcr-io-nvidia-pytorch-".repeat(8)}${end}` }));
    expect(leg("a")).toMatch(/^[A-Za-z0-9._-]{60}$/);
    expect(leg("a")).not.toBe(leg("b"));
  });

  it.each(["null", "{}"])("matrixLeg is null without a matrix: %s", (json) => {
    expect(matrixLeg(json)).toBeNull();
  });

  it.each(["", "[1]", "Object", '"x"'])("matrixLeg is undefined for what is not a matrix: %j", (json) => {
    expect(matrixLeg(json)).toBeUndefined();
  });
});
