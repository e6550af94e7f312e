import { execFileSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { temporaryDirectory } from "./testing/probed.ts";
import { PYTHONS, versionOf } from "./testing/pythons.ts";

const PROBE = path.join(packageRoot(), "probe", "inject");

/** The switch interval in each part of three readings, as a multiple of the program's own. */
const READ = `
import json, sys, threading
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.attribute import attribution, moment, python_memory, rows
own, at = sys.getswitchinterval(), {}
def note(owner, name):
    original = getattr(owner, name)
    def noted(*args):
        at.setdefault(name, set()).add(sys.getswitchinterval())
        return original(*args)
    setattr(owner, name, noted)
note(moment.Moment, "look")
note(python_memory.PythonMemory, "live")
note(rows, "python_rows")
note(attribution.Attribution, "_write")
reader = attribution.Attribution(sys.argv[2], ("seconds", [1.0, 2.0, 3.0]))
reader.prepare()
cache = {}
for number in range(3):
    cache.update(((number, index), [index]) for index in range(1000))
    thread = threading.Thread(target=reader.take, args=(number, False))
    thread.start()
    thread.join()
found = {name: [interval / own for interval in intervals] for name, intervals in at.items()}
with open(sys.argv[2] + ".lines.2.tracemalloc.json") as file:
    kept = [row["name"] for row in json.load(file)["retainers"]]
print(json.dumps([found, sys.getswitchinterval() / own, "cache" in kept]))
`;

describe.skipIf(PYTHONS.length === 0)("a reading of the heap by the probe's own thread", () => {
  it.each(PYTHONS.map((python) => [versionOf(python), python.executable]))(
    "a thread waits longer for its turn while the retainers are read, not for sums, rows and files, in Python %s",
    (_version, executable) => {
      const base = path.join(temporaryDirectory(), "base");
      const read = execFileSync(executable, ["-c", READ, PROBE, base], { encoding: "utf8" });
      const [intervals, after, kept] = JSON.parse(read);
      expect(intervals).toEqual({ look: [expect.any(Number)], live: [1], python_rows: [1], _write: [1] });
      // A reading that lost its turn to a thread that computes waits as long for the next.
      expect(intervals.look[0]).toBeGreaterThan(1);
      expect(intervals.look[0]).toBeLessThan(100);
      expect([after, kept]).toEqual([1, true]);
    },
  );
});
