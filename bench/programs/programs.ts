/** A program that runs outside and inside the wall. */
export interface Program {
  readonly name: string;
  /** A shell script, in a directory of its own. */
  readonly script: string;
  /** Programs that it needs on the PATH. */
  readonly needs?: readonly string[];
  /** Modules that /usr/bin/python3 needs. */
  readonly modules?: readonly string[];
  /** Files to write before, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Run once before, outside of the gate. */
  readonly before?: string;
  /** Cannot work inside, where the gate's hint names the way out. */
  readonly needsNoWall?: boolean;
}

const python = (code: string): string => `python3 -c '${code}'`;
/** Long enough for the sampler to see everything at its largest. */
const HOLD = "import time; time.sleep(0.5)";

const PI_C = `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <stdio.h>
int main(void) {
  char *p = malloc(32 << 20);
  memset(p, 1, 32 << 20);
  usleep(500000);
  puts("done");
  return p[5] == 1 ? 0 : 1;
}
`;
const PROGRAM_C = { "program.c": PI_C };
const BUILD = "gcc -g -o program program.c";

const LOADER = `import torch, time
from torch.utils.data import DataLoader, Dataset
class Numbers(Dataset):
    def __len__(self): return 64
    def __getitem__(self, i): return torch.full((1024, 64), float(i))
total = sum(float(batch.sum()) for batch in DataLoader(Numbers(), batch_size=8, num_workers=2))
kept = torch.ones(16 << 20)
time.sleep(0.5)
print(total, kept.numel())
`;

const SHARED = `import multiprocessing as mp, time
from multiprocessing import shared_memory
def work(name):
    block = shared_memory.SharedMemory(name)
    block.buf[0] += 1
    block.close()
if __name__ == "__main__":
    block = shared_memory.SharedMemory(create=True, size=32 << 20)
    block.buf[:] = bytes(32 << 20)
    for _ in range(3):
        one = mp.Process(target=work, args=(block.name,)); one.start(); one.join()
    time.sleep(0.5)
    print(block.buf[0]); block.close(); block.unlink()
`;

const SOCKET = `import socket, threading, time
for address in ("\\0wall-test", "socket"):
    server = socket.socket(socket.AF_UNIX); server.bind(address); server.listen()
    threading.Thread(target=lambda: server.accept()[0].sendall(b"hello")).start()
    client = socket.socket(socket.AF_UNIX); client.connect(address); print(client.recv(5)); server.close()
time.sleep(0.5)
`;

const TESTS = `import pytest, time
@pytest.mark.parametrize("n", range(8))
def test_one(n):
    kept = bytearray(8 << 20); time.sleep(0.1); assert len(kept) == 8 << 20
`;

const APP = `def app(environ, start):
    start("200 OK", [("Content-Type", "text/plain")])
    return [b"served\\n"]
`;

const HELLO_JAVA = `public class Hello { public static void main(String[] a) throws Exception {
  byte[] kept = new byte[32 << 20]; Thread.sleep(500); System.out.println("java " + kept.length); } }`;

const HELLO_GO = `package main
import ("fmt"; "time")
func main() { kept := make([]byte, 32<<20); for i := range kept { kept[i] = 1 }
  time.Sleep(500 * time.Millisecond); fmt.Println("go", len(kept)) }`;

const MAKEFILE = `all: a b c d
a b c d: program.c
\tgcc -o $@ program.c
\t./$@
`;
const CMAKE = `cmake_minimum_required(VERSION 3.10)
project(one C)
add_executable(program program.c)
enable_testing()
add_test(NAME one COMMAND program)
`;

const NODE_TEST = `require("node:test")("holds", async () => { const kept = Buffer.alloc(32 << 20, 1);
  await new Promise((done) => setTimeout(done, 500)); if (kept.length !== 32 << 20) throw new Error(); });`;
const CLUSTER = `const cluster = require("node:cluster");
if (cluster.isPrimary) { for (let i = 0; i < 2; i++) cluster.fork(); cluster.on("exit", (w, code) => console.log("worker", code)); }
else { const kept = Buffer.alloc(16 << 20, 1); setTimeout(() => process.exit(kept.length > 0 ? 5 : 1), 700); }`;
const THREADS = `const { Worker, isMainThread } = require("node:worker_threads");
if (isMainThread) new Worker(__filename).on("exit", (code) => console.log("thread", code));
else { const kept = Buffer.alloc(16 << 20, 1); setTimeout(() => process.exit(kept.length > 0 ? 7 : 1), 500); }`;

const POSTGRES = `export PGHOST=$PWD; initdb -D data -A trust >/dev/null && pg_ctl -D data -o "-k $PWD -h ''" -w start >/dev/null
psql -d postgres -Atc "select sum(n) from generate_series(1, 100000) n"; pg_ctl -D data -m fast stop >/dev/null; rm -rf data`;

export const PROGRAMS: readonly Program[] = [
  { name: "a shell, exit status 3", script: "echo out; echo err >&2; exit 3" },
  { name: "a shell that ends by SIGSEGV", script: "kill -SEGV $$" },
  { name: "a shell that ignores SIGTERM", script: "trap '' TERM; kill -TERM $$; echo still here" },
  {
    name: "identity, limits and environment",
    script: "id -u; id -g; id -G; umask; pwd; ulimit -a; env | grep -v STORMLOG | cut -d= -f1 | sort",
  },
  { name: "`timeout`", script: "timeout 0.3 sleep 5; echo $?; timeout -s KILL 0.3 sleep 5; echo $?" },
  { name: "`setsid`", script: "setsid --wait sh -c 'echo session; exit 4'; echo $?" },
  { name: "`nohup` in the background", script: "nohup sh -c 'sleep 0.2; echo later' >log 2>&1 & wait $!; cat log" },
  {
    name: "job control",
    needs: ["bash"],
    script: `bash -c 'set -m; sleep 1 & kill -STOP %1; sleep 0.2; jobs; kill -CONT %1; wait %1; echo $?'`,
  },
  {
    name: "a terminal",
    needs: ["script"],
    script: `script -qec 'test -t 0 && stty size && echo terminal; exit 6' /dev/null </dev/null`,
  },
  {
    name: "`tmux`",
    needs: ["tmux"],
    script:
      "tmux -S socket -f /dev/null new-session -d 'echo inside >out; tmux -S socket wait -S done' \\; wait done; cat out; tmux -S socket kill-server 2>/dev/null; true",
  },
  { name: "`xargs -P`", script: "seq 20 | xargs -P 4 -I{} sh -c 'echo {}'" },
  {
    name: "`nice`, `taskset` and `flock`",
    needs: ["taskset", "flock"],
    script: "nice -n 3 nice; taskset -c 0 nproc; flock lock echo locked",
  },
  {
    name: "named pipes and `/dev/stderr`",
    script: "rm -f p; mkfifo p; (echo one >p) & cat p; echo two >/dev/stderr; echo three >/dev/stdout",
  },
  {
    name: "Perl, forks",
    needs: ["perl"],
    script: `perl -e '$| = 1; $x = "a" x (32 << 20); for (1 .. 3) { if (!fork) { exit 2 } } while (wait > 0) { print $? >> 8, "\\n" } select undef, undef, undef, 0.5'`,
  },
  { name: "Python, 64 MiB", script: python(`kept = bytearray(64 << 20); ${HOLD}; print(len(kept))`) },
  { name: "Python, shared memory between processes", files: { "run.py": SHARED }, script: "python3 run.py" },
  { name: "Python, Unix and abstract sockets", files: { "run.py": SOCKET }, script: "rm -f socket; python3 run.py" },
  { name: "PyTorch, DataLoader workers", modules: ["torch"], files: { "run.py": LOADER }, script: "python3 run.py" },
  {
    name: "`pytest`",
    modules: ["pytest"],
    files: { "test_it.py": TESTS },
    script: "python3 -m pytest -q -p no:cacheprovider",
  },
  {
    name: "`pytest-xdist`",
    modules: ["xdist"],
    files: { "test_it.py": TESTS },
    script: "python3 -m pytest -q -n 2 -p no:cacheprovider",
  },
  {
    name: "gunicorn",
    modules: ["gunicorn"],
    needs: ["curl"],
    files: { "app.py": APP },
    script:
      "python3 -m gunicorn -w 2 -b unix:socket app:app 2>log & for i in $(seq 200); do curl -sf --unix-socket socket http://x/ && break; sleep 0.1; done; sleep 0.5; kill -TERM $!; wait $!; echo $?; rm -f socket",
  },
  {
    name: "an HTTP server and `curl`",
    needs: ["curl"],
    script:
      "python3 -u -m http.server 0 -b 127.0.0.1 >log 2>&1 & until grep -q port log; do sleep 0.1; done; curl -s -o page -w '%{http_code}\\n' http://127.0.0.1:$(grep -o 'port [0-9]*' log | cut -d' ' -f2)/; kill $!",
  },
  {
    name: "Node, `npm test`",
    needs: ["npm"],
    files: {
      "package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"node --test"}}`,
      "x.test.js": NODE_TEST,
    },
    script: "npm test 2>&1 | grep -E '^(#|ℹ) (tests|pass|fail)'",
  },
  { name: "Node, cluster", files: { "run.js": CLUSTER }, script: "node run.js" },
  { name: "Node, worker threads", files: { "run.js": THREADS }, script: "node run.js" },
  {
    name: "Java",
    needs: ["java", "javac"],
    files: { "Hello.java": HELLO_JAVA },
    before: "javac Hello.java",
    script: "java -Xms64m -Xmx64m -XX:+UseSerialGC -cp . Hello",
  },
  {
    name: "Go",
    needs: ["go"],
    files: { "main.go": HELLO_GO },
    before: "GOCACHE=$PWD/cache GOPATH=$PWD/path go build -o main main.go",
    script: "./main",
  },
  { name: "a C program", needs: ["gcc"], files: PROGRAM_C, before: BUILD, script: "./program" },
  {
    name: "`make -j`",
    needs: ["make", "gcc"],
    files: { ...PROGRAM_C, Makefile: MAKEFILE },
    script: "rm -f a b c d; make -j4",
  },
  {
    name: "CMake, Ninja and CTest",
    needs: ["cmake", "ninja", "ctest"],
    files: { ...PROGRAM_C, "CMakeLists.txt": CMAKE },
    script: "rm -rf out; cmake -G Ninja -B out >/dev/null && ninja -C out >/dev/null && ctest --test-dir out | tail -3",
  },
  {
    name: "`gdb`",
    needs: ["gdb", "gcc"],
    files: PROGRAM_C,
    before: BUILD,
    script:
      "gdb -q -batch -ex 'break puts' -ex run -ex bt -ex continue ./program 2>&1 | grep -E '^#|exited|hello|done'",
  },
  {
    name: "`strace`",
    needs: ["strace", "gcc"],
    files: PROGRAM_C,
    before: BUILD,
    script: "strace -f -e trace=write -o log ./program; grep -c done log",
  },
  {
    name: "Valgrind",
    needs: ["valgrind", "gcc"],
    files: PROGRAM_C,
    before: BUILD,
    script: "valgrind --error-exitcode=9 ./program 2>&1 | grep -E 'definitely|done|no leaks'; true",
  },
  {
    name: "`mpirun`, two processes",
    needs: ["mpirun"],
    files: PROGRAM_C,
    before: BUILD,
    script: "mpirun --oversubscribe -n 2 ./program",
  },
  {
    name: "nested user namespaces",
    needs: ["unshare"],
    script:
      "unshare --user --map-root-user --pid --mount --fork --mount-proc sh -c 'id -u; ls -d /proc/[0-9]*; mount -t tmpfs x /mnt && echo mounted'",
  },
  {
    name: "Chromium with its sandbox",
    needs: ["chromium"],
    script:
      "chromium --headless --disable-gpu --user-data-dir=$PWD/profile --dump-dom 'data:text/html,<p>hello' 2>/dev/null; rm -rf profile",
  },
  {
    name: "Docker's client",
    needs: ["docker"],
    script: "docker --version; DOCKER_HOST=unix://$PWD/none docker ps 2>&1; echo $?",
  },
  {
    name: "SQLite",
    needs: ["sqlite3"],
    script: "rm -f db; sqlite3 db 'create table t(x); insert into t values (1), (2); select sum(x) from t;'",
  },
  { name: "PostgreSQL", needs: ["initdb", "pg_ctl", "psql"], script: POSTGRES },
  {
    name: "a repository of its own",
    needs: ["git"],
    script:
      "rm -rf r; git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git log --format=%s",
  },
  {
    name: "`ssh`'s configuration",
    needs: ["ssh"],
    files: { config: "Host x\n  User y\n" },
    script: "ssh -F config -G x | grep '^user '",
  },
  {
    name: "a container's sandbox",
    needs: ["bwrap"],
    script: "bwrap --ro-bind / / --proc /proc --dev /dev --unshare-pid sh -c 'echo $$'",
  },
  {
    name: "Rust",
    needs: ["rustc"],
    files: {
      "main.rs": `fn main() { let kept = vec![1u8; 32 << 20]; std::thread::sleep(std::time::Duration::from_millis(500)); println!("rust {}", kept.len()); }`,
    },
    before: "rustc -o main main.rs",
    script: "./main",
  },
  { name: "`sudo`", needs: ["sudo"], script: "sudo -n true", needsNoWall: true },
  {
    name: "`git commit` in the checkout",
    needs: ["git"],
    script: "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one",
    before: "git init -q .",
    needsNoWall: true,
  },
];
