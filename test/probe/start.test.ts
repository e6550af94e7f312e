import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { probeDirectory } from "../../src/core/probe-directory.ts";
import { END, HEAP, only, probed, probedScript, recordsOf, TIMER, temporaryDirectory } from "./testing/probed.ts";
import { atLeast, PYTHON, PYTHONS, TOO_OLD, versionOf } from "./testing/pythons.ts";

const LIVES = "import time; time.sleep(0.8)";
const THEIRS = "import sys\nsys.stdout.write('theirs ')\n";

const COMPILER = ["cc", "gcc", "clang"].find((name) => spawnSync(name, ["--version"]).status === 0) ?? null;
/** Every thread begins half a second late. */
const LATE_THREADS = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
struct start { void *(*run)(void *); void *argument; };
static void *late(void *pointer) {
  struct start own = *(struct start *)pointer;
  free(pointer);
  usleep(500000);
  return own.run(own.argument);
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
  struct start *own = malloc(sizeof *own);
  own->run = run;
  own->argument = argument;
  return real(thread, attributes, late, own);
}
`;

/** A parent with a sitecustomize of the user's. */
function userDirectory(text = THEIRS): string {
  const parent = temporaryDirectory();
  writeFileSync(path.join(parent, "sitecustomize.py"), text);
  return parent;
}

describe.skipIf(PYTHONS.length === 0)("the probe's start", () => {
  it.each(PYTHONS.map((python) => [versionOf(python), python] as const))(
    "the probe reads the heap early, identifies itself and reports nothing missing in Python %s",
    async (version, python) => {
      const ended = await probed(python, ["-c", `print('mine'); ${LIVES}`], { pythonPath: [userDirectory()] });
      expect(ended).toMatchObject({ code: 0, stdout: "theirs mine\n", stderr: "" });
      const left = only(ended);
      expect(left.header).toMatchObject({ ended: true, rank: -1, worldSize: -1, role: 0, step: null });
      expect(left.info.get("python")).toMatch(new RegExp(`^${version.replace(".", "\\.")}\\.`));
      expect(Object.fromEntries(left.info)).toMatchObject({ pid: String(left.pid), role: "plain", heap: "mallinfo2" });
      const timed = recordsOf(left, HEAP, TIMER);
      // Every 20 ms for 0.7 s, less what a busy machine took away.
      expect(timed.length).toBeGreaterThan(4);
      expect(recordsOf(left, HEAP, END)).toHaveLength(1);
      for (const { values } of timed) {
        expect(values[0]).toBeGreaterThan(100_000);
        expect(values[1]).toBeGreaterThanOrEqual(values[0] ?? 0);
      }
      expect(left.info.get("error")).toBeUndefined();
    },
  );

  it.each(PYTHONS.map((python) => [versionOf(python), python] as const))(
    "a process that ends at once leaves at most one ring in Python %s",
    async (_version, python) => {
      const ended = await probed(python, ["-c", "print('over')"]);
      expect(ended).toMatchObject({ code: 0, stdout: "over\n", stderr: "" });
      // A machine that is busy enough makes any process last.
      expect(ended.left.length).toBeLessThanOrEqual(1);
    },
  );

  it.skipIf(COMPILER === null || PYTHON === null)(
    "lets a thread that was slow to start begin before the interpreter takes itself apart, which would abort it",
    async () => {
      const parent = temporaryDirectory();
      const library = path.join(parent, "late.so");
      writeFileSync(path.join(parent, "late.c"), LATE_THREADS);
      const built = spawnSync(COMPILER!, ["-shared", "-fPIC", "-o", library, path.join(parent, "late.c"), "-ldl"]);
      expect(built.status, String(built.stderr)).toBe(0);
      const began = performance.now();
      const ended = await probed(PYTHON!, ["-c", "print('over')"], { env: { LD_PRELOAD: library } });
      expect(ended).toMatchObject({ code: 0, stdout: "over\n", stderr: "" });
      expect(performance.now() - began).toBeGreaterThan(500);
    },
  );

  it.skipIf(TOO_OLD.length === 0).each(TOO_OLD.map((python) => [versionOf(python), python] as const))(
    "the probe is silent in Python %s, which is too old, and runs the user's sitecustomize",
    async (_version, python) => {
      const ended = await probed(python, ["-c", LIVES], { pythonPath: [userDirectory()] });
      expect(ended).toMatchObject({ code: 0, stdout: "theirs ", stderr: "", left: [] });
    },
  );

  it.each(["-I", "-E", "-S", "-IES"])("prints nothing under %s, which disables it", async (flag) => {
    const ended = await probed(PYTHON!, ["-c", `${LIVES}; print('ran')`], { flags: [flag] });
    expect(ended).toMatchObject({ code: 0, stdout: "ran\n", stderr: "", left: [] });
  });

  it("prints nothing with warnings and development mode on", async () => {
    const script = `${LIVES}\nimport os, sys\npid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)\nprint('ran')`;
    const ended = await probedScript(PYTHON!, script, { flags: ["-X", "dev", "-W", "error"] });
    expect(ended).toMatchObject({ code: 0, stdout: "ran\n", stderr: "" });
  });

  it.each([
    ["at once", ""],
    ["after it has lasted", "time.sleep(0.3)"],
  ])("does not make Python 3.12 warn of a fork beside a thread, %s", async (_when, before) => {
    const python = atLeast(12);
    if (python === null) return;
    const script = `import os, time\n${before}\nfor _ in range(20):\n  pid = os.fork()\n  if pid == 0: os._exit(0)\n  os.waitpid(pid, 0)\n`;
    const ended = await probedScript(python, script, { flags: ["-W", "error::DeprecationWarning"] });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
  });
});

describe.skipIf(PYTHON === null)("the probe's way in", () => {
  const python = PYTHON!;

  it("runs the user's sitecustomize and shows its failure", async () => {
    const script = "import sitecustomize; print(sitecustomize.__spec__.origin)";
    const parent = userDirectory("");
    const kept = await probed(python, ["-c", script], { pythonPath: [parent] });
    expect(kept.stdout.trim()).toBe(path.join(parent, "sitecustomize.py"));
    const broken = await probed(python, ["-c", "print('ran')"], {
      pythonPath: [userDirectory("raise ValueError('theirs')")],
    });
    expect(broken).toMatchObject({ code: 0, stdout: "ran\n" });
    expect(broken.stderr).toMatch(/Error in sitecustomize.*\n?.*ValueError: theirs/s);
  });

  it("ends where two copies of the probe are on the path", async () => {
    const copy = path.join(temporaryDirectory(), "inject");
    spawnSync("cp", ["-r", path.join(probeDirectory(), "inject"), copy]);
    const ended = await probed(python, ["-c", LIVES], { pythonPath: [copy, userDirectory()] });
    expect(ended).toMatchObject({ code: 0, stdout: "theirs ", stderr: "" });
    expect(ended.left).toHaveLength(1);
  });

  it("works through a sitecustomize before it that hands over in turn", async () => {
    // As bootstraps of tracers do: out of the way, import the next, and back.
    const tracer = userDirectory(`
import os, sys
here = os.path.dirname(__file__)
sys.path.remove(here)
own = sys.modules.pop("sitecustomize")
import sitecustomize
sys.modules["sitecustomize"] = own
sys.path.insert(0, here)
sys.stdout.write("tracer ")
`);
    const env = { PYTHONPATH: [tracer, path.join(probeDirectory(), "inject"), userDirectory()].join(path.delimiter) };
    const parent = path.join(temporaryDirectory(), "probe");
    mkdirSync(parent);
    const shell = `export PYTHONPATH="$LATER"; exec "$0" -c "${LIVES}"`;
    const ended = await probed({ ...python, executable: "/bin/sh" }, ["-c", shell, python.executable], {
      env: { LATER: env.PYTHONPATH },
      directory: parent,
    });
    expect(ended).toMatchObject({ code: 0, stdout: "theirs tracer ", stderr: "" });
    expect(ended.left).toHaveLength(1);
  });

  it("does not disturb a program whose working directory was deleted", async () => {
    const shell = `mkdir gone && cd gone && rmdir ../gone && exec "$0" -c "${LIVES}; print('ran')"`;
    const ended = await probed({ ...python, executable: "/bin/sh" }, ["-c", shell, python.executable], {
      pythonPath: [""],
    });
    expect(ended).toMatchObject({ code: 0, stdout: "ran\n", stderr: "" });
    expect(ended.left).toHaveLength(1);
  });

  it("does not disturb the program where its directory is missing, a file or read-only", async () => {
    const parent = temporaryDirectory();
    const file = path.join(parent, "file");
    writeFileSync(file, "");
    const closed = path.join(parent, "closed");
    mkdirSync(closed);
    chmodSync(closed, 0o555);
    for (const directory of [path.join(parent, "missing"), file, closed, "/proc/self"]) {
      const ended = await probed(python, ["-c", `${LIVES}; print('ran')`], { directory });
      expect(ended).toMatchObject({ code: 0, stdout: "ran\n", stderr: "" });
    }
    chmodSync(closed, 0o755);
  });

  it("does not disturb the program when its directory is removed meanwhile", async () => {
    const ended = await probed(python, ["-c", "import time; time.sleep(0.9); print('ran')"], {
      during: async (_child, directory) => {
        await sleep(400);
        rmSync(directory, { recursive: true, force: true });
      },
    });
    expect(ended).toMatchObject({ code: 0, stdout: "ran\n", stderr: "" });
  });

  it("writes the program of a command line, however odd, and not its arguments, which may hold secrets", async () => {
    const odd = Buffer.from([0x66, 0xff, 0xfe, 0x0a, 0x25, 0x0d]).toString("latin1");
    const script = `import os, sys\nargs = [sys.executable, '-c', '${LIVES}', ${JSON.stringify(odd)}.encode('latin1'), 'x' * 100000]\nos.execv(sys.executable, args)`;
    const ended = await probedScript(python, script);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const { info } = only(ended);
    expect(info.get("argv")).toMatch(/^\/.* -c$/);
    for (const value of info.values()) expect(value.length).toBeLessThan(4000);
    expect(info.get("python")).toMatch(/^3\./);
  });

  it("keeps the program's own errors, exit codes and hooks as they are", async () => {
    const script = `import sys, threading\nprint(sys.excepthook is sys.__excepthook__, sys.flags.dev_mode)\n${LIVES}\nraise KeyError('mine')`;
    const ended = await probedScript(python, script);
    expect(ended).toMatchObject({ code: 1, stdout: "True False\n" });
    expect(ended.stderr).toMatch(/KeyError: 'mine'\n$/);
    expect(ended.stderr).not.toContain("stormlog");
    const coded = await probed(python, ["-c", `${LIVES}; import sys; sys.exit(7)`]);
    expect(coded).toMatchObject({ code: 7, stderr: "" });
  });

  it("leaves nothing behind in a directory but its rings and info files", async () => {
    const ended = await probed(python, ["-c", LIVES]);
    const { name } = only(ended);
    expect(readdirSync(ended.directory).sort()).toEqual([`${name}.info`, `${name}.probe`]);
  });
});
