import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { only, probed, probedScript, RECORDED } from "./testing/probed.ts";
import { atLeast, PYTHON, PYTHONS, type Python, versionOf } from "./testing/pythons.ts";

const ATTRIBUTE = { STORMLOG_GATE_ATTRIBUTE: "on", STORMLOG_GATE_ATTRIBUTE_AT: "seconds:0.1,0.2,0.3" };
const each = PYTHONS.map((python) => [versionOf(python), python] as const);

const IMPORT = `
try:
    import _interpreters as sub
except ImportError:
    import _xxsubinterpreters as sub
`;
const RUN = `
for script in ("x = 1", "import threading, time; x = [bytes(2000) for _ in range(20000)]; time.sleep(0.2)"):
    one = sub.create()
    sub.run_string(one, script)
    sub.destroy(one)
print("ran")
`;

/** The notes of all documents that an attributed process left. */
function notesIn(directory: string): readonly string[] {
  const documents = readdirSync(directory).filter((name) => name.endsWith(".tracemalloc.json"));
  return documents.flatMap((name) => JSON.parse(readFileSync(path.join(directory, name), "utf8")).notes as string[]);
}

describe.skipIf(PYTHONS.length === 0)("a program with sub-interpreters", () => {
  it.each(each)(
    "sub-interpreters end as without the probe in Python %s, and only the main interpreter is measured",
    async (_, python) => {
      const ended = await probedScript(python, `import time\ntime.sleep(0.2)\n${IMPORT}${RUN}`);
      expect(ended).toMatchObject({ code: 0, signal: null, stdout: "ran\n", stderr: "" });
      only(ended);
    },
  );

  it.each(
    each.flatMap(([version, python]) => [
      [version, "before", python, `${IMPORT}import time\ntime.sleep(0.25)\n${RUN}`] as const,
      [version, "after", python, `import time\ntime.sleep(0.25)\n${IMPORT}${RUN}`] as const,
    ]),
  )(
    "a program with sub-interpreters runs under attribution in Python %s, imported %s tracing began, with a note",
    async (...given) => {
      const [, , python, script] = given;
      const ended = await probedScript(python, `${script}time.sleep(0.2)\n`, { env: ATTRIBUTE, timeoutMs: 10_000 });
      expect(ended).toMatchObject({ code: 0, signal: null, stdout: "ran\n", stderr: "" });
      expect(notesIn(ended.directory)).toContainEqual(expect.stringMatching(/sub-interpreters.* no lines$/));
    },
  );
});

describe.skipIf(PYTHONS.length === 0)("a program that closes its standard descriptors", () => {
  const script = `
import os, sys, time
closed = [int(one) for one in sys.argv[1].split()]
for one in closed:
    os.close(one)
time.sleep(0.4)
for one in closed:
    try:
        os.write(one, b"X" * 64)
        os._exit(7)
    except OSError:
        pass
`;

  it.each(each.flatMap(([version, python]) => ["0 1", "0 1 2"].map((closed) => [version, closed, python] as const)))(
    "a program does not write into the ring in Python %s with %s closed",
    async (_version, closed, python) => {
      const ended = await probed(python, ["-c", script, closed]);
      expect(ended.code).toBe(0);
      expect(only(ended).header).toMatchObject({ ended: true });
    },
  );
});

describe.skipIf(atLeast(12) === null)("a program that watches itself through sys.monitoring", () => {
  const script = `${RECORDED}
import sys
recorded(1)
monitoring, raised = sys.monitoring, []
own = [one for one in range(6) if monitoring.get_tool(one) == "stormlog-gate"]
for tool in (4, 3):
    monitoring.use_tool_id(tool, "mine")
    assert monitoring.get_events(tool) == 0
    assert monitoring.register_callback(tool, monitoring.events.RAISE, lambda *_: raised.append(1)) is None
    monitoring.set_events(tool, monitoring.events.RAISE)
    try:
        raise MemoryError("mine")
    except MemoryError:
        pass
try:
    monitoring.use_tool_id(4, "again")
except ValueError as error:
    print(len(own), len(raised) >= 3, error)
`;

  it("a program that uses sys.monitoring gets the probe's tool id, and the probe takes another while one is free", async () => {
    const ended = await probedScript(atLeast(12) as Python, script);
    expect(ended).toMatchObject({ code: 0, stdout: "1 True tool 4 is already in use\n", stderr: "" });
    // The first error is raised while the probe has moved to another id, the second when it has none.
    expect(only(ended).ooms).toHaveLength(1);
  });
});

describe.skipIf(PYTHON === null)("a program that counts its threads", () => {
  it("a program that counts its threads does not see those of attribution", async () => {
    // It counts after a moment was written, however late that is on a busy machine.
    const script = [
      "import os, threading, time",
      "while not any('.tracemalloc.' in name for name in os.listdir(os.environ['STORMLOG_GATE_PROBE_DIR'])):",
      "    time.sleep(0.01)",
      "print(threading.active_count(), threading.enumerate() == [threading.main_thread()])",
    ].join("\n");
    // The last moment is the program's end: the thread that waits for it lives while the program counts.
    const env = { ...ATTRIBUTE, STORMLOG_GATE_ATTRIBUTE_AT: "seconds:0.1,0.2,60" };
    const ended = await probedScript(PYTHON as Python, script, { env });
    expect(ended).toMatchObject({ code: 0, stdout: "1 True\n", stderr: "" });
  });
});
