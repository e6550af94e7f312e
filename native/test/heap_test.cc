// The preloadable heap library in real programs.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "../preload/own_thread.h"
#include "../probe_ring.h"
#include "harness.h"
#include "probe/probe_reader.h"

using namespace stormlog;
using testing_support::built;
using testing_support::Reader;
using testing_support::sleepMs;
using testing_support::TempDirectory;

namespace {

constexpr uint64_t kMiB = 1 << 20;
// Before the programs under test began.
constexpr uint64_t kEarlier = 60 * kSecond;

struct Ran {
  int status;
  std::string output;
};

// Runs a shell line in which $HOST is the program with the library preloaded, and what else `environment` sets.
Ran run(const TempDirectory& directory, const std::string& line, const std::string& environment = "") {
  const std::string command = "HOST=\"env LD_PRELOAD=" + built("libstormlog_heap.so") + " STORMLOG_GATE_PROBE_DIR=" + directory.path() + " " +
                              environment + " " + built("heap_host") + "\"; " + line;
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char chunk[512];
  for (size_t n = 0; (n = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;) output.append(chunk, n);
  const int status = pclose(pipe);
  return {status, output};
}

std::vector<std::string> namesIn(const std::string& path, const std::string& ending) {
  std::vector<std::string> names;
  DIR* directory = opendir(path.c_str());
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0) names.push_back(name);
  }
  closedir(directory);
  return names;
}

std::string textOf(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST("a preloaded program records its heap at every step, with the growth that the program allocates") {
  TempDirectory directory;
  const Ran ran = run(directory, "$HOST grow 150 1300");
  CHECK_EQ(ran.status, 0);
  unsigned long grown = 0;
  unsigned long last = 0;
  CHECK_EQ(std::sscanf(ran.output.c_str(), "%lu %lu", &grown, &last), 2);
  Reader reader(directory.path(), 0, kEarlier);
  reader.finish();
  std::vector<const Record*> steps;
  for (const Record* record : reader.all(RecordKind::kAllocator)) {
    if (record->valid >> 4 == kProbeStep) steps.push_back(record);
  }
  CHECK(steps.size() >= 140 && steps.size() <= 150);
  const uint64_t perStep = (steps.back()->v[0] - steps.front()->v[0]) / (steps.back()->v[3] - steps.front()->v[3]);
  CHECK_EQ(perStep, 1312);
  // The output buffer of the program came after.
  CHECK(last - steps.back()->v[0] < 8192);
  CHECK(steps.back()->v[1] >= steps.back()->v[0]);
  const Record* end = reader.out.last(RecordKind::kAllocator);
  CHECK_EQ(end->valid >> 4, kProbeEnd);
  CHECK_EQ(reader.reported(kProbeRecordsLost), 0);
  const auto infos = namesIn(directory.path(), ".info");
  CHECK_EQ(infos.size(), 1);
  const std::string info = textOf(directory / infos[0]);
  CHECK(info.find("heap=mallinfo2\n") != std::string::npos);
  CHECK(info.find("heap_host grow 150 1300\n") != std::string::npos);
  CHECK(info.find("rank=") == std::string::npos);
}

TEST("the older counters are taken where the newer ones are missing") {
  TempDirectory directory;
  CHECK_EQ(run(directory, "$HOST hold 64 600", "STORMLOG_GATE_HEAP_SOURCE=mallinfo").status, 0);
  Reader reader(directory.path(), 0, kEarlier);
  reader.finish();
  uint64_t most = 0;
  for (const Record* record : reader.all(RecordKind::kAllocator)) most = record->v[0] > most ? record->v[0] : most;
  CHECK(most >= 64 * kMiB && most < 66 * kMiB);
}

TEST("a program at a fixed address, which replaces malloc, still records its heap") {
  TempDirectory directory;
  const std::string line = "env LD_PRELOAD=" + built("libstormlog_heap.so") + " STORMLOG_GATE_PROBE_DIR=" + directory.path() + " " +
                           built("heap_fixed") + " hold 5 600";
  CHECK_EQ(system(line.c_str()), 0);
  Reader reader(directory.path(), 0, kEarlier);
  reader.finish();
  const Record* last = reader.out.last(RecordKind::kAllocator);
  CHECK(last != nullptr && last->v[0] > 5 * kMiB && last->v[0] < 6 * kMiB);
}

TEST("a program with its own allocator records its steps, and no heap of the C library") {
  TempDirectory directory;
  const std::string line = "env LD_PRELOAD=" + built("libstormlog_heap.so") + " STORMLOG_GATE_PROBE_DIR=" + directory.path() + " " +
                           built("heap_own_malloc") + " grow 40 1000 >/dev/null";
  CHECK_EQ(system(line.c_str()), 0);
  Reader reader(directory.path(), 0, kEarlier);
  reader.finish();
  CHECK_EQ(reader.all(RecordKind::kAllocator).size(), 0);
  CHECK(reader.all(RecordKind::kStep).size() > 30);
  CHECK_EQ(reader.out.last(RecordKind::kStep)->v[0], 40);
  const auto infos = namesIn(directory.path(), ".info");
  CHECK_EQ(infos.size(), 1);
  CHECK(textOf(directory / infos[0]).find("heap=none:malloc is not the C library's\n") != std::string::npos);
}

TEST("rank and world size come from the launcher's variables") {
  TempDirectory directory;
  CHECK_EQ(run(directory, "$HOST end 400", "RANK=2 LOCAL_RANK=1 WORLD_SIZE=4").status, 0);
  Reader reader(directory.path(), 0, kEarlier);
  reader.finish();
  CHECK_EQ(reader.out.last(RecordKind::kStream)->v[3] & 0xffffffffffULL, 3ULL | 5ULL << 16 | 1ULL << 32);
  TempDirectory wrong;
  CHECK_EQ(run(wrong, "$HOST end 400", "RANK=4 WORLD_SIZE=4 SLURM_PROCID=x SLURM_NTASKS=2").status, 0);
  Reader plain(wrong.path(), 0, kEarlier);
  plain.finish();
  CHECK_EQ(plain.out.last(RecordKind::kStream)->v[3] & 0xffffffffffULL, 0);
}

TEST("a program that ends at once leaves nothing, and so does any without the directory") {
  TempDirectory directory;
  CHECK_EQ(run(directory, "$HOST short").status, 0);
  CHECK_EQ(namesIn(directory.path(), ".probe").size(), 0);
  CHECK_EQ(run(directory, "$HOST grow 30 100", "STORMLOG_GATE_PROBE_DIR=").status, 0);
  CHECK_EQ(run(directory, "$HOST grow 30 100", "STORMLOG_GATE_PROBE_DIR=relative").status, 0);
  CHECK_EQ(run(directory, "$HOST grow 30 100", "STORMLOG_GATE_PROBE_DIR=/no/such/directory").status, 0);
  CHECK_EQ(namesIn(directory.path(), ".probe").size(), 0);
}

TEST("a forked child has its own ring, and so has a process after exec") {
  TempDirectory forked;
  CHECK_EQ(run(forked, "$HOST fork 600").status, 0);
  CHECK_EQ(namesIn(forked.path(), ".probe").size(), 2);
  Reader reader(forked.path(), 0, kEarlier);
  reader.finish();
  const auto streams = reader.all(RecordKind::kStream);
  CHECK_EQ(streams.size(), 2);
  uint64_t most[2] = {0, 0};
  for (const Record* record : reader.all(RecordKind::kAllocator)) most[record->id] = std::max(most[record->id], record->v[0]);
  CHECK(std::min(most[0], most[1]) < kMiB && std::max(most[0], most[1]) > 3 * kMiB);
  TempDirectory replaced;
  CHECK_EQ(run(replaced, "$HOST exec 400").status, 0);
  const auto rings = namesIn(replaced.path(), ".probe");
  CHECK_EQ(rings.size(), 2);
  CHECK_EQ(rings[0].substr(0, rings[0].find('.')) == rings[1].substr(0, rings[1].find('.')), true);
  TempDirectory vforked;
  CHECK_EQ(run(vforked, "$HOST vfork 400").status, 0);
  CHECK_EQ(namesIn(vforked.path(), ".probe").size(), 1);
}

TEST("threads that step, allocate and fork at once disturb neither the program nor the ring") {
  TempDirectory directory;
  CHECK_EQ(run(directory, "$HOST threads 400").status, 0);
  Reader reader(directory.path(), 0, kEarlier);
  reader.finish();
  CHECK_EQ(reader.reported(kProbeNotARing), 0);
  CHECK_EQ(reader.reported(kProbeRecordImpossible), 0);
  CHECK(reader.all(RecordKind::kAllocator).size() > 40);
  bool sound = true;
  for (const Record* record : reader.all(RecordKind::kAllocator)) sound &= record->v[0] < 64 * kMiB && record->v[0] > 0;
  CHECK(sound);
}

TEST("a program that closes every descriptor keeps its own file") {
  TempDirectory directory;
  const Ran ran = run(directory, "$HOST closes " + directory.path() + "/own 600");
  CHECK_EQ(ran.status, 0);
  CHECK_EQ(namesIn(directory.path(), ".probe").size(), 1);
}

TEST("where no file can be made the program runs all the same") {
  TempDirectory directory;
  CHECK_EQ(chmod(directory.path().c_str(), 0555), 0);
  CHECK_EQ(run(directory, "$HOST grow 200 100").status, 0);
  CHECK_EQ(chmod(directory.path().c_str(), 0755), 0);
  // A limit on file sizes, below that of a ring; in a subshell, with the signal that would come by default.
  CHECK_EQ(run(directory, "(ulimit -f 8; trap '' XFSZ; $HOST grow 200 100 >/dev/null)").status, 0);
  CHECK_EQ(namesIn(directory.path(), ".probe").size(), geteuid() == 0 ? 1 : 0);
}

TEST("a limit on file sizes does not end a program whose own thread makes the ring") {
  TempDirectory directory;
  CHECK_EQ(run(directory, "(ulimit -f 8; $HOST grow 200 100 >/dev/null)").status, 0);
}

TEST("the state and the number of threads are found behind any name of a program") {
  char state = '\0';
  unsigned threads = 0;
  const std::string fields = " Z 1 5 5 0 -1 4228356 1 0 0 0 0 0 0 0 20 0 3 0 100 0";
  CHECK(stormlog_heap::parseStat(("7 (sh)" + fields).c_str(), state, threads));
  CHECK_EQ(state, 'Z');
  CHECK_EQ(threads, 3);
  CHECK(stormlog_heap::parseStat(("7 (a) R 1 (b c)" + fields).c_str(), state, threads));
  CHECK_EQ(state, 'Z');
  CHECK_EQ(threads, 3);
  for (const char* cut : {"", "7 (sh", "7 (sh)", "7 (sh) ", "7 (sh) Z 1 5", "7 (sh) Z 1 5 5 0 -1 4228356 1 0 0 0 0 0 0 0 20 0 3"}) {
    CHECK(!stormlog_heap::parseStat(cut, state, threads));
  }
}

TEST("a program whose main thread ends first ends with its last own thread, and its record has an end") {
  TempDirectory directory;
  const Ran ran = run(directory, "timeout -s KILL 20 $HOST leave pthread_exit 300");
  CHECK_EQ(ran.status, 0);
  // On a stack of the usual size, and with the signals of the program.
  CHECK(ran.output == "worker done\nexit handler, 1 signal\n");
  Reader reader(directory.path(), 0, kEarlier);
  reader.finish();
  const Record* end = reader.out.last(RecordKind::kAllocator);
  CHECK(end != nullptr && end->valid >> 4 == kProbeEnd);
  const Ran raw = run(directory, "timeout -s KILL 20 $HOST leave exit 300");
  CHECK_EQ(raw.status, 0);
  CHECK(raw.output == "worker done\n");
}

TEST("both preloaded libraries together end with a program whose main thread ends first") {
  const std::string both = "LD_PRELOAD=" + built("libstormlog_heap.so") + ":" + built("libstormlog_stacks.so") + " STORMLOG_GATE_STACKS=peak ";
  for (const char* moments : {"steps:1000", "seconds:1000"}) {
    TempDirectory directory;
    const Ran ran = run(directory, "timeout -s KILL 20 $HOST leave pthread_exit 300", both + "STORMLOG_GATE_ATTRIBUTE_AT=" + moments);
    CHECK_EQ(ran.status, 0);
    CHECK(ran.output == "worker done\nexit handler, 1 signal\n");
  }
}

TEST("children of a program under ThreadSanitizer run to their end") {
  // Skipped where the sanitizer's runtime does not start on this kernel.
  const std::string program = built("heap_host_tsan");
  if (system((program + " short >/dev/null 2>&1").c_str()) != 0) return;
  TempDirectory directory;
  const std::string line = "env LD_PRELOAD=" + built("libstormlog_heap.so") + ":" + built("libstormlog_stacks.so") +
                           " STORMLOG_GATE_STACKS=1 STORMLOG_GATE_ATTRIBUTE_AT=steps:1000 STORMLOG_GATE_PROBE_DIR=" + directory.path() +
                           " " + program + " fork 60";
  CHECK_EQ(system(line.c_str()), 0);
}

TEST("a Python interpreter is left to its own probe") {
  // A real interpreter, not a pyenv shim.
  if (access("/usr/bin/python3", X_OK) != 0) return;
  TempDirectory directory;
  const std::string line = "env LD_PRELOAD=" + built("libstormlog_heap.so") + " STORMLOG_GATE_PROBE_DIR=" + directory.path() +
                           " /usr/bin/python3 -I -c 'import time; time.sleep(0.1)'";
  CHECK_EQ(system(line.c_str()), 0);
  CHECK_EQ(namesIn(directory.path(), ".probe").size(), 0);
}

TEST("ordinary programs of this machine run under it as ever") {
  TempDirectory directory;
  const std::string line = "export LD_PRELOAD=" + built("libstormlog_heap.so") + " STORMLOG_GATE_PROBE_DIR=" + directory.path() +
                           "; seq 1 20000 | sort -rn | gzip | gunzip | md5sum; sh -c 'for i in 1 2 3 4 5; do (echo $i); done'; ls / | wc -l; printf x | xargs echo";
  FILE* with = popen(line.c_str(), "r");
  FILE* without = popen(line.substr(line.find("; ") + 2).c_str(), "r");
  std::string texts[2];
  FILE* pipes[] = {with, without};
  for (int i = 0; i < 2; ++i) {
    char chunk[512];
    for (size_t n = 0; (n = std::fread(chunk, 1, sizeof chunk, pipes[i])) > 0;) texts[i].append(chunk, n);
    CHECK_EQ(pclose(pipes[i]), 0);
  }
  CHECK(texts[0] == texts[1]);
  CHECK(texts[0].size() > 40);
}
