import { execFile } from "node:child_process";
import { chmodSync, chownSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { missingProgram } from "../cluster/testing/program.ts";
import { cli, freshDirectory } from "../e2e/cli.ts";
import { PYTHON } from "../probe/testing/pythons.ts";

const STEPS = 150;
const LEAK = `import time
kept = []
for step in range(${STEPS}):
    kept.append("x" * 200000 + str(step))
    time.sleep(0.02)
`;
const OTHER_ENVIRONMENT = `import subprocess, sys
sys.exit(subprocess.call([sys.executable, "leak.py"], env={"PATH": "/usr/bin:/bin"}))
`;
const SHARED = `import time
from multiprocessing import shared_memory
kept = []
for step in range(${STEPS}):
    kept.append(shared_memory.SharedMemory(create=True, size=1 << 18))
    kept[-1].buf[:] = b"x" * (1 << 18)
    time.sleep(0.02)
for one in kept:
    one.close()
    one.unlink()
`;
const SPREAD = `import time
class Kept: pass
kept = Kept()
${Array.from({ length: 12 }, (_, i) => `kept.list_${i} = []`).join("\n")}
for step in range(${STEPS}):
${Array.from({ length: 12 }, (_, i) => `    kept.list_${i}.append("x" * 20000)`).join("\n")}
    time.sleep(0.02)
`;
/** As a program that does not survive it that recording slows it down, whatever is recorded. */
const slowed = (end: string): string => `import os, signal, sys
${LEAK}    if step == 60 and "STORMLOG_GATE_ATTRIBUTE" in os.environ:
        ${end}
`;
const MAPPED_IN_PYTHON = `import ctypes, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
for step in range(${STEPS}):
    ctypes.memset(libc.mmap(None, 200000, 3, 0x22, -1, 0), 1, 200000)
    time.sleep(0.02)
`;
const SUBINTERPRETERS = `import sys
__import__("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
`;
const DESCRIPTORS = `import time
kept = []
for step in range(${2 * STEPS}):
    kept.append(open("/dev/null"))
    time.sleep(0.01)
`;
const NODE = `const kept = [];
const timer = setInterval(() => {
  kept.push(new Array(25000).fill(kept.length));
  if (kept.length === ${STEPS}) clearInterval(timer);
}, 20);
`;
const MALLOC = `#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *kept[${STEPS}];
int main(void) {
  for (int i = 0; i < ${STEPS}; i++) {
    kept[i] = malloc(200000);
    memset(kept[i], 1, 200000);
    usleep(20000);
  }
}
`;
const MAPPED = MALLOC.replace(
  "malloc(200000)",
  "mmap(0, 200000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)",
);
/** An allocator of its own, beside a heap that holds little. */
const POOL = MAPPED.replace("    memset(", "    memset(malloc(3000), 1, 3000);\n    memset(");
const RUST = `fn main() {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for _ in 0..${STEPS} {
        kept.push(vec![1u8; 200000]);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    println!("{}", kept.len());
}
`;
const GO = `package main

import "time"

var kept [][]byte

func main() {
	for i := 0; i < ${STEPS}; i++ {
		block := make([]byte, 200000)
		for j := range block {
			block[j] = 1
		}
		kept = append(kept, block)
		time.Sleep(20 * time.Millisecond)
	}
}
`;
const JAVA = `import java.util.*;

public class Leak {
  static List<byte[]> kept = new ArrayList<>();
  public static void main(String[] arguments) throws Exception {
    for (int i = 0; i < ${STEPS}; i++) {
      kept.add(new byte[400000]);
      if (i % 10 == 9) System.gc();
      Thread.sleep(20);
    }
  }
}
`;
const PERL = `my @kept; for my $step (1..${STEPS}) { push @kept, "x" x 200000; select(undef, undef, undef, 0.02); }\n`;

const python = PYTHON?.executable ?? "python3";
const hasCompiler = missingProgram(["gcc"]) === null;

interface Leak {
  readonly files: Readonly<Record<string, string>>;
  readonly build?: readonly string[];
  /** Before the run: what a compiler does not do. */
  readonly prepare?: (cwd: string) => void;
  readonly options?: readonly string[];
  readonly command: readonly string[];
}

const CONCURRENT = { concurrent: true, timeout: 240_000 };
/** Of all builds: the first compiles the run-time library. */
const GOCACHE = freshDirectory();
/** Programs that sleep are measured two at a time. */
const LANES = [Promise.resolve(), Promise.resolve()];
let started = 0;

/** Run a leaking program as a user does, and read what its answer says in place of a line. */
async function answerOf(leak: Leak) {
  const lane = started++ % LANES.length;
  const answer = LANES[lane]?.then(() => measured(leak));
  LANES[lane] = Promise.allSettled([answer]).then(() => {});
  const { stdout } = await (answer ?? measured(leak));
  // What Node's collector may free warns on a busy machine.
  expect(stdout).toMatch(/^(?:✗ FAIL|! WARN) {2}default {2}(?:Leak|Host leak) of /m);
  const after = (label: string): string | null =>
    new RegExp(`^ {2}${label}: +(.*(?:\\n {13}.*)*)`, "m").exec(stdout)?.[1]?.replace(/\n +/g, " ") ?? null;
  return { reason: after("No line"), next: after("Next"), stdout };
}

async function measured({ files, build = [], prepare, options = [], command }: Leak) {
  const cwd = freshDirectory();
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(cwd, name), text);
  const [program, ...args] = build;
  if (program !== undefined) await promisify(execFile)(program, args, { cwd, env: { ...process.env, GOCACHE } });
  prepare?.(cwd);
  const run = ["run", "--baseline", "none", ...options, "--", ...command];
  return cli(run, { cwd });
}

const inPython = (text: string, ...options: readonly string[]) => ({
  files: { "leak.py": text },
  command: [python, ...options, "leak.py"],
});
const inC = (text: string, ...flags: readonly string[]) => ({
  files: { "leak.c": text },
  build: ["gcc", ...flags, "-o", "leak", "leak.c"],
  command: ["./leak"],
});

describe.skipIf(process.platform !== "linux" || PYTHON === null)("a leak of Python without a line", CONCURRENT, () => {
  it.each(["-I", "-S"])("a Python program under %s is said to lack the probe, and gets no advice", async (option) => {
    const { reason, next } = await answerOf(inPython(LEAK, option));
    expect(reason).toMatch(/^the probe is not in [\w.]+, which grows: .*`-I`, `-E` or `-S`$/);
    expect(next).toBeNull();
  });

  it("a child with an environment of its own is named, and not its parent's readings", async () => {
    const files = { "leak.py": LEAK, "start.py": OTHER_ENVIRONMENT };
    const { reason, next } = await answerOf({ files, command: [python, "start.py"] });
    expect(reason).toMatch(/^the probe is not in leak\.py, which grows: it has another environment/);
    expect(next).toBeNull();
  });

  it("growth of shared memory is said to be in files in RAM, and sent to where they are found", async () => {
    const { reason, next, stdout } = await answerOf(inPython(SHARED));
    expect(stdout).toContain("of the growth is in files in RAM");
    expect(reason).toBeNull();
    expect(next).toContain("/dev/shm");
  });

  it("growth of twelve lines is said to be held by none of them", async () => {
    const { reason } = await answerOf(inPython(SPREAD));
    // On a busy machine.
    const few = /^\d readings of the heap fitted into the run/;
    expect(reason).toMatch(new RegExp(`^none holds a fifth of the growth$|${few.source}`));
  });

  it.each([
    ["exits", 'sys.exit("the server is not up in time")', "exited with status 1 (the server is not up in time)"],
    ["is killed", "os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"],
  ])("a program that %s under attribution has its end on the first screen", async (_, end, shown) => {
    const { reason, next } = await answerOf(inPython(slowed(end)));
    expect(reason).toBe(`with attribution on, the command ${shown}`);
    expect(next).toBeNull();
  });

  it("a limit of runs that leaves none for the line is named", async () => {
    const { reason } = await answerOf({ ...inPython(LEAK), options: ["--max-runs", "1"] });
    expect(reason).toBe("the limit of 1 run is reached, so none was looked for");
  });

  it("a program with sub-interpreters is said to have no lines, and gets no advice that would end it", async () => {
    const { reason, next } = await answerOf(inPython(`${SUBINTERPRETERS}${LEAK}`));
    expect(reason).toContain("sub-interpreters, which crash CPython while tracemalloc is on");
    expect(next).toBeNull();
  });

  it("pages that Python maps by ctypes are native memory, and sent to a tool that sees them", async () => {
    const { reason, next, stdout } = await answerOf(inPython(MAPPED_IN_PYTHON));
    expect(stdout).toContain("of the growth is native memory that no line holds");
    expect(reason).toBeNull();
    expect(next).toContain("memray run --native");
  });

  it("descriptors have no line, and the place that lists them is named", async () => {
    const { reason, next } = await answerOf(inPython(DESCRIPTORS));
    expect(reason).toBe(
      "none is looked for, since descriptors are not memory: `ls -l /proc/PID/fd` shows what is open",
    );
    expect(next).toBeNull();
  });
});

describe.skipIf(process.platform !== "linux" || !hasCompiler)(
  "a leak of compiled code without a line",
  CONCURRENT,
  () => {
    it("a static program is said to be linked statically", async () => {
      const { reason, next } = await answerOf(inC(MALLOC, "-static"));
      expect(reason).toBe("memory of `./leak` is not seen, because it is linked statically");
      expect(next).toContain("Link it dynamically");
    });

    it.skipIf(process.getuid?.() !== 0)("a program with the rights of another user is said to have them", async () => {
      const prepare = (cwd: string): void => {
        chownSync(path.join(cwd, "leak"), 65534, 65534);
        chmodSync(path.join(cwd, "leak"), 0o4755);
      };
      const { reason, next } = await answerOf({ ...inC(MALLOC, "-g"), prepare });
      expect(reason).toBe("memory of `./leak` is not seen, because its set-user-id bit forbids preloaded libraries");
      expect(next).toContain("Run a copy without that bit");
    });

    it.each([
      ["C", inC(MALLOC, "-s"), "gcc"],
      [
        "Rust",
        { files: { "leak.rs": RUST }, build: ["rustc", "-O", "-C", "strip=symbols", "leak.rs"], command: ["./leak"] },
        "rustc",
      ],
    ])("a stripped program of %s is named, and advised to keep its debug information", async (_, leak, compiler) => {
      if (missingProgram([compiler]) !== null) return;
      const { reason, next, stdout } = await answerOf(leak);
      expect(stdout).toContain("not attributed to a line, allocated by leak");
      expect(reason).toBeNull();
      expect(next).toContain("Compile it with debug information (`-g`) and do not strip it");
    });

    it.each([
      ["pages that a program maps itself are", inC(MAPPED, "-g")],
      ["an allocator of the program's own is", inC(POOL, "-g")],
      [
        "a program without the preloaded library is",
        { ...inC(MALLOC, "-g"), command: ["env", "-u", "LD_PRELOAD", "./leak"] },
      ],
    ])("%s said to grow outside of the C heap, or to have another environment", async (_, leak) => {
      const { reason, next } = await answerOf(leak);
      expect(reason).toBe(
        "leak grows outside of the C heap (`mmap`, an allocator of its own), or has another environment",
      );
      expect(next).toBeNull();
    });
  },
);

describe.skipIf(process.platform !== "linux")("a leak of another language without a line", CONCURRENT, () => {
  it.skipIf(missingProgram(["go"]) !== null).each([
    ["itself", ["./leak"]],
    ["below a shell", ["sh", "-c", "echo; ./leak"]],
  ])("a Go program %s is sent to Go's own profiles", async (_, command) => {
    const build = ["go", "build", "-o", "leak", "leak.go"];
    const { reason, next } = await answerOf({ files: { "leak.go": GO }, build, command });
    expect(reason).toBe("memory of `./leak` is not seen, because Go has a heap of its own");
    expect(next).toContain("go tool pprof");
  });

  it.skipIf(missingProgram(["javac"]) !== null)("a Java program is sent to the JVM's own histograms", async () => {
    const build = ["javac", "Leak.java"];
    const { reason, next } = await answerOf({ files: { "Leak.java": JAVA }, build, command: ["java", "Leak"] });
    expect(reason).toContain("`jcmd PID GC.class_histogram`");
    expect(next).toBeNull();
  });

  it("a Node program with an environment of its own is said to lack the probe, and gets no advice", async () => {
    const command = ["env", "-u", "NODE_OPTIONS", "node", "leak.js"];
    const { reason, next } = await answerOf({ files: { "leak.js": NODE }, command });
    expect(reason).toMatch(/^the probe is not in (?:leak\.js|node), which grows: it has another environment$/);
    expect(next).toBeNull();
  });

  it.skipIf(missingProgram(["perl"]) !== null)(
    "an interpreter of the machine is named, and not to be compiled",
    async () => {
      const { stdout, reason, next } = await answerOf({ files: { "leak.pl": PERL }, command: ["perl", "leak.pl"] });
      expect(stdout).toMatch(/allocated by .*perl/);
      expect([reason, next]).toEqual([null, null]);
    },
  );
});
