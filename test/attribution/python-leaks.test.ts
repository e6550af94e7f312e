import { existsSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { attributed, FIXTURES, leakyBlock, PYTHON } from "./testing/attributed.ts";

describe.skipIf(!existsSync(PYTHON))("the growing line of a leak in plain Python", () => {
  const script = path.join(FIXTURES, "python_cache.py");

  it("the growing line is where entries are kept, not where they are made or what churns", async () => {
    const ran = await attributed([PYTHON, script, "400"], { kind: "seconds", at: [1.5, 2, 2.5, 3] });
    expect(ran.code, ran.stderr).toBe(0);
    const [top] = ran.attribution.lines;
    const block = leakyBlock(script);
    expect(top).toMatchObject({ file: script, function: "remember", placed: "kept", keptBy: "the dict `cache`" });
    expect(top?.line).toBeGreaterThan(block.first);
    expect(top?.line).toBeLessThan(block.last);
    expect(top?.allocatedAt).toMatchObject({ file: script, function: "make_entry" });
    expect(top?.share).toBeGreaterThan(0.9);
    expect(top?.bytesPerSecond).toBeGreaterThan(0);
    expect(top?.hint?.code).toBe("growing-container");
  });
});
