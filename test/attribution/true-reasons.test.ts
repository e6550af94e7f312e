import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { missingProgram } from "../cluster/testing/program.ts";
import { cli, freshDirectory } from "../e2e/cli.ts";
import { PYTHON } from "../probe/testing/pythons.ts";

const LEAK = `import time
kept = []
for step in range(150):
    kept.append("x" * 200000 + str(step))
    time.sleep(0.02)
`;
const OTHER_ENVIRONMENT = `import subprocess, sys
sys.exit(subprocess.call([sys.executable, "leak.py"], env={"PATH": "/usr/bin:/bin"}))
`;
const SHARED = `import time
from multiprocessing import shared_memory
kept = []
for step in range(150):
    kept.append(shared_memory.SharedMemory(create=True, size=1 << 18))
    kept[-1].buf[:] = b"x" * (1 << 18)
    time.sleep(0.02)
for one in kept:
    one.close()
    one.unlink()
`;
/** As a server that is not up in time because recording slows it down, whatever is recorded. */
const SLOWED = `import os, sys, time
kept = []
for step in range(150):
    kept.append("x" * 200000 + str(step))
    time.sleep(0.02)
    if step == 60 and "STORMLOG_GATE_ATTRIBUTE" in os.environ:
        sys.exit("the server is not up in time")
`;
const MALLOC = `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *kept[200];
int main(void) {
  for (int i = 0; i < 150; i++) {
    kept[i] = malloc(200000);
    memset(kept[i], 1, 200000);
    usleep(20000);
  }
}
`;
const MAPPED = MALLOC.replace("stdlib.h", "sys/mman.h").replace(
  "malloc(200000)",
  "mmap(0, 200000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)",
);
const GO = `package main

import "time"

var kept [][]byte

func main() {
	for i := 0; i < 150; i++ {
		block := make([]byte, 200000)
		for j := range block {
			block[j] = 1
		}
		kept = append(kept, block)
		time.Sleep(20 * time.Millisecond)
	}
}
`;
const PERL = `my @kept; for my $step (1..150) { push @kept, "x" x 200000; select(undef, undef, undef, 0.02); }\n`;

const python = PYTHON?.executable ?? "python3";
const hasCompiler = missingProgram(["gcc"]) === null;

/** Run a leaking program as a user does, and read what its answer says in place of a line. */
async function answerOf(files: Readonly<Record<string, string>>, build: readonly string[], command: readonly string[]) {
  const cwd = freshDirectory();
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(cwd, name), text);
  const [program, ...args] = build;
  if (program !== undefined)
    execFileSync(program, args, { cwd, env: { ...process.env, GOCACHE: path.join(cwd, "go") } });
  const { stdout, code } = await cli(["run", "--baseline", "none", "--", ...command], { cwd, env: { COLUMNS: "300" } });
  expect(stdout).toMatch(/^✗ FAIL {2}default {2}Leak of /m);
  expect(code).toBe(4);
  const after = (label: string): string | null => new RegExp(`^ {2}${label}: +(.*)$`, "m").exec(stdout)?.[1] ?? null;
  return { reason: after("No line"), next: after("Next"), stdout };
}

describe.skipIf(process.platform !== "linux")("a leak without a line", () => {
  it.skipIf(PYTHON === null)("a Python program under -I is said to lack the probe, and gets no advice", async () => {
    const { reason, next } = await answerOf({ "leak.py": LEAK }, [], [python, "-I", "leak.py"]);
    expect(reason).toMatch(/^the probe is not in python[\d.]*, which grows/);
    expect(next).toBeNull();
  });

  it.skipIf(PYTHON === null)(
    "a child with an environment of its own is named, and not its parent's readings",
    async () => {
      const files = { "leak.py": LEAK, "start.py": OTHER_ENVIRONMENT };
      const { reason, next } = await answerOf(files, [], [python, "start.py"]);
      expect(reason).toMatch(/^the probe is not in leak\.py, which grows: it has another environment/);
      expect(next).toBeNull();
    },
  );

  it.skipIf(PYTHON === null)("growth of files in RAM is sent to where such files are found", async () => {
    const { reason, next } = await answerOf({ "leak.py": SHARED }, [], [python, "leak.py"]);
    expect(reason).toBeNull();
    expect(next).toContain("/dev/shm");
  });

  it.skipIf(PYTHON === null)("a program that ends under attribution has its message on the first screen", async () => {
    const { reason } = await answerOf({ "leak.py": SLOWED }, [], [python, "leak.py"]);
    expect(reason).toBe("with attribution on, the command exited with status 1");
  });

  it.skipIf(!hasCompiler)("a static program is said to be linked statically", async () => {
    const { reason, next } = await answerOf(
      { "leak.c": MALLOC },
      ["gcc", "-static", "-o", "leak", "leak.c"],
      ["./leak"],
    );
    expect(reason).toBe("memory of `./leak` is not seen, because it is linked statically");
    expect(next).toContain("Link it dynamically");
  });

  it.skipIf(!hasCompiler)("a program without symbols is advised to be compiled with debug information", async () => {
    const { next } = await answerOf({ "leak.c": MALLOC }, ["gcc", "-s", "-o", "leak", "leak.c"], ["./leak"]);
    expect(next).toContain("`-g`");
  });

  it.skipIf(!hasCompiler)("pages that a program maps itself are said to be outside of the C heap", async () => {
    const { reason, next } = await answerOf({ "leak.c": MAPPED }, ["gcc", "-g", "-o", "leak", "leak.c"], ["./leak"]);
    expect(reason).toMatch(/^leak grows outside of the C heap \(`mmap`/);
    expect(next).toBeNull();
  });

  it.skipIf(missingProgram(["go"]) !== null)("a Go program is sent to Go's own profiles", async () => {
    const { reason, next } = await answerOf({ "leak.go": GO }, ["go", "build", "-o", "leak", "leak.go"], ["./leak"]);
    expect(reason).toBe("memory of `./leak` is not seen, because Go has a heap of its own");
    expect(next).toContain("go tool pprof");
  });

  it.skipIf(missingProgram(["perl"]) !== null)(
    "an interpreter of the machine is named, and not to be compiled",
    async () => {
      const { stdout, next } = await answerOf({ "leak.pl": PERL }, [], ["perl", "leak.pl"]);
      expect(stdout).toMatch(/allocated by .*perl/);
      expect(next).toBeNull();
    },
  );
});
