import { execFileSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { PYTHON, PYTHONS, versionOf } from "./testing/pythons.ts";

const PROBE = path.join(packageRoot(), "probe", "inject");

/** Five moments of a program whose cache gains ten entries between two of them, beside so many small lists. */
const LOOKED = `
import collections, gc, json, sys, tracemalloc
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.attribute import retainers
cache, history = {}, []
others = [[1, 2, 3, 4] for _ in range(int(sys.argv[2]))]
tracemalloc.start(2)
look = retainers.Retainers()
for moment in range(5):
    for index in range(10):
        cache[moment, index] = [index]
        history.append(index)
    others.extend([1, 2, 3, 4] for _ in range(1000))
    gc.collect()
    found = look.grown(gc.get_objects())
named = {"cache": cache, "history": history, "others": others}
grown = [(name, one.before, len(one.object)) for one in found for name, own in named.items() if one.object is own]
same = list(retainers._identities(others)) == list(map(id, others))
print(json.dumps([sorted(grown), len(look._noted[0]), look.seen.get("steady_containers"), same]))
`;

/** Of the newest objects of a program that loses lists how many were looked into, and how many nothing refers to. */
const LOST = `
import ctypes, gc, json, sys, tracemalloc
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.attribute import retainers
tracemalloc.start(2)
look = retainers.Retainers()
for moment in range(3):
    for index in range(1000):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object([index, "lost", "by", "an", "extension"]))
    gc.collect()
    look.grown(gc.get_objects())
print(json.dumps([look.seen["newest"], look.seen["unreferenced"]]))
`;

/** New elements of a list, and of those that an extension leaves after an error: with no element, or with one. */
const HALF_BUILT = `
import ctypes, json, sys
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.attribute import retainers
make, fill = ctypes.pythonapi.PyList_New, ctypes.pythonapi.PyList_SetItem
make.restype, make.argtypes = ctypes.py_object, [ctypes.c_ssize_t]
fill.argtypes = [ctypes.py_object, ctypes.c_ssize_t, ctypes.py_object]
begun = make(40)
kept = "first"
ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
fill(begun, 0, kept)
lists = [list("abcdefgh"), make(40), begun]
print(json.dumps([retainers.new_elements(retainers.Retainer(one, len(one) - 3)) for one in lists]))
`;

/** Five moments of containers that do not grow at the end, and of a list that takes the address of a shorter one. */
const REPLACED = `
import collections, gc, json, sys, tracemalloc
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.attribute import retainers
tracemalloc.start(2)
front, left, unordered = [], collections.deque(), set()
rows, addresses = [], set()
look = retainers.Retainers()
for moment in range(5):
    for index in range(10):
        front.insert(0, "%d of %d" % (index, moment))
        left.appendleft("%d of %d" % (index, moment))
        unordered.add(1000 * moment + index)
    gc.collect()
    # The memory of the list that is released is the next list's.
    rows = None
    rows = ["row %d of %d" % (row, moment) for row in range(10 * moment + 10)]
    addresses.add(id(rows))
    found = look.grown(gc.get_objects())
named = {"front": front, "left": left, "unordered": unordered, "rows": rows}
print(json.dumps([sorted(name for name, own in named.items() if any(one.object is own for one in found)), len(addresses)]))
`;

/** Moments of a dict of the program and two of the probe: its modules lead to one, its code allocated the other. */
const OF_THE_PROBE = `
import gc, json, os, sys, tracemalloc
sys.path.insert(0, sys.argv[1])
import _stormlog_probe.attribute
from _stormlog_probe.attribute import attribution, retainers
_stormlog_probe.attribute._attribution = reader = attribution.Attribution("", ("seconds", [1.0, 2.0]))
tracemalloc.start(2)
cache, found = {}, reader.native.codes.found
# So many that the last one's memory is not from before the tracing.
made = compile("[{} for _ in range(1000)][-1]", os.path.join(os.path.dirname(attribution.__file__), "made.py"), "eval")
local = eval(made)
for moment in range(4):
    for own in (cache, found, local):
        own.update(((moment, index), [index]) for index in range(10))
    gc.collect()
    grown = reader.retainers.grown(gc.get_objects())
print(json.dumps([any(one.object is own for one in grown) for own in (cache, found, local)]))
`;

const looked = (lists: number): unknown =>
  JSON.parse(execFileSync(PYTHON?.executable ?? "", ["-c", LOOKED, PROBE, String(lists)], { encoding: "utf8" }));

/** Whether a cache of strings and bytes was seen to grow at every moment, and that nothing grows without one. */
const HIDDEN = `
import collections, functools, gc, json, os, sys, tracemalloc
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.attribute import retainers
class Table(dict): pass
by_key, counted, table = {}, collections.Counter(), Table()
unbounded = functools.lru_cache(None)(lambda key: os.urandom(40))
bounded = functools.lru_cache(1000)(lambda key: os.urandom(40))
adders = {
    "dict": lambda key: by_key.__setitem__(key, os.urandom(40)),
    "Counter": lambda key: counted.update([key]),
    "subclass": lambda key: table.__setitem__(key, os.urandom(40)),
    "lru_cache": unbounded,
    "bounded": bounded,
    "nothing": lambda key: None,
}
tracemalloc.start(2)
seen = {}
for name, add in adders.items():
    look = retainers.Retainers()
    for moment in range(5):
        for index in range(20):
            add("%d of %d" % (index, moment))
        gc.collect()
        look.grown(gc.get_objects())
    seen[name] = look.seen.get("steady_containers")
print(json.dumps({name: count > 0 for name, count in seen.items()}))
`;

/** What hangs on a caught exception: a variable of the function that raised it, and none of the module's. */
const CAUGHT = `
import json, sys
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.attribute import retainers
other = ["global"]
def parse():
    table = {"only": "local"}
    return table["missing"]
def caught():
    try:
        parse()
    except KeyError as error:
        return error
try:
    parse()
except KeyError as error:
    outside = error
held = [[one for one, _ in retainers.hanging_on(error, None)] for error in (caught(), outside)]
print(json.dumps([[{"only": "local"} in some, any(one is other for one in some)] for some in held]))
`;

/** Frames of a set that has not grown since memory is traced: those of what it keeps. */
const UNMOVED = `
import json, sys, tracemalloc
sys.path.insert(0, sys.argv[1])
from _stormlog_probe.attribute import moment, retainers
kept = set(str(number) for number in range(40))
tracemalloc.start(2)
made = str(1234567)
kept.add(made)
known = moment.made_at([int, made])
print(json.dumps([retainers.growth_frames(kept), [line for _, line in known][-1:]]))
`;

describe.skipIf(PYTHON === null)("the containers that grow", () => {
  const grown = (lists: number) => [
    ["cache", 40, 50],
    ["history", 40, 50],
    ["others", lists + 4000, lists + 5000],
  ];

  it("growing containers are found among all others, by how much they grew since the snapshot before", () => {
    expect(looked(100)).toEqual([grown(100), expect.any(Number), 3, true]);
  });

  it("growing containers are found among so many that short and new ones are not followed", () => {
    expect(looked(60_000)).toEqual([grown(60_000), 20_000, 3, true]);
  });

  it.each(PYTHONS.map((python) => [versionOf(python), python.executable]))(
    "a list at the address of a shorter one is not taken for a growing list in Python %s",
    (_version, executable) => {
      const [named, addresses] = JSON.parse(execFileSync(executable, ["-c", REPLACED, PROBE], { encoding: "utf8" }));
      expect(addresses).toBe(1);
      expect(named).toEqual(["front", "left", "unordered"]);
    },
  );

  it.each(PYTHONS.map((python) => [versionOf(python), python.executable]))(
    "growing containers of the probe are left out in Python %s",
    (_version, executable) => {
      const grown = execFileSync(executable, ["-c", OF_THE_PROBE, PROBE], { encoding: "utf8" });
      expect(JSON.parse(grown)).toEqual([true, false, false]);
    },
  );

  it("lists that an extension lost have no referrer, though the probe has lists of all containers", () => {
    const lost = execFileSync(PYTHON?.executable ?? "", ["-c", LOST, PROBE], { encoding: "utf8" });
    const [newest, unreferenced] = JSON.parse(lost);
    expect(newest).toBe(64);
    expect(unreferenced).toBeGreaterThan(60);
  });

  it("a list that an extension left half-built is looked into without following its empty slots", () => {
    const found = execFileSync(PYTHON?.executable ?? "", ["-c", HALF_BUILT, PROBE], { encoding: "utf8" });
    expect(JSON.parse(found)).toEqual([["h", "g", "f", "b", "a"], [], ["first", "first"]]);
  });

  it("growing containers include caches of strings and bytes, which the collector does not list", () => {
    const seen = JSON.parse(execFileSync(PYTHON?.executable ?? "", ["-c", HIDDEN, PROBE], { encoding: "utf8" }));
    const grew = { dict: true, Counter: true, subclass: true, lru_cache: true, bounded: true };
    expect(seen).toEqual({ ...grew, nothing: false });
  });

  it.each(PYTHONS.map((python) => [versionOf(python), python.executable]))(
    "a kept exception holds the variables of the functions it left in Python %s",
    (_version, executable) => {
      const held = execFileSync(executable, ["-c", CAUGHT, PROBE], { encoding: "utf8" });
      expect(JSON.parse(held)).toEqual([
        [true, false],
        [true, false],
      ]);
    },
  );

  it("a set whose buffer has not moved has the stack of what it keeps", () => {
    const found = execFileSync(PYTHON?.executable ?? "", ["-c", UNMOVED, PROBE], { encoding: "utf8" });
    expect(JSON.parse(found)).toEqual([[], [7]]);
  });
});
