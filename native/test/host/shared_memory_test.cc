// The job's memory with each shared page counted once, from a made-up /proc.
#include "../../sources/host/shared_memory.h"
#include "../harness.h"
#include "../support.h"

using namespace stormlog;
using namespace testing_support;

namespace {

std::string rollup(int anonKib, int shmemKib) {
  return "00400000-7ffd [rollup]\nRss: 900000 kB\nPss: 999 kB\nPss_Anon: " + std::to_string(anonKib) + " kB\nPss_File: 70 kB\nPss_Shmem: " +
         std::to_string(shmemKib) + " kB\nSwapPss: 3 kB\n";
}

struct Job {
  explicit Job(std::vector<int> members) : source(proc.path(), 1) {
    source.follow(&pids);
    pids.publish(members.data(), members.size());
  }
  const Record* read() {
    source.sampleProcesses(7, out);
    return out.last(RecordKind::kHostShared);
  }
  TempDirectory proc;
  JobPids pids;
  SharedMemory source;
  Capture out;
};

}  // namespace

TEST("anonymous and shared memory of all processes are summed, without those that ended") {
  Job job({10, 11, 12});
  job.proc.write("10/smaps_rollup", rollup(100, 20));
  job.proc.write("11/smaps_rollup", rollup(300, 20));
  const Record* record = job.read();
  CHECK(record != nullptr);
  if (record == nullptr) return;
  CHECK_EQ(record->timeNs, 7u);
  // v2 is filled in by the sampler, which knows the job's cgroup.
  CHECK_EQ(record->valid, 11);
  // Pages in swap are held, too.
  CHECK_EQ(record->v[0], 446u * 1024);
  // How long the reading took, in microseconds.
  CHECK(record->id >= 0);
  CHECK_EQ(record->v[1], 40u * 1024);
  CHECK_EQ(record->v[3], 2u);
}

TEST("with a process that cannot be read the sum is unknown, and the process is counted") {
  Job job({10, 11});
  job.proc.write("10/smaps_rollup", rollup(100, 20));
  // A directory can be opened and not read.
  job.proc.write("11/smaps_rollup/x", "");
  const Record* record = job.read();
  CHECK(record != nullptr);
  if (record == nullptr) return;
  CHECK_EQ(record->valid, 8);
  CHECK_EQ(record->v[3], 1u | 1ull << 32);
}

TEST("a job without processes has no reading") {
  Job job({10});
  CHECK(job.read() == nullptr);
}

TEST("the source is there where the kernel lists the kinds of memory, and has a reason elsewhere") {
  Job job({});
  CHECK(job.source.probe().reason.find("cannot be read (ENOENT)") != std::string::npos);
  job.proc.write("1/smaps_rollup", "Rss: 1 kB\nPss: 1 kB\n");
  CHECK(job.source.probe().reason.find("Linux 5.3") != std::string::npos);
  job.proc.write("1/smaps_rollup", rollup(1, 1));
  CHECK(job.source.probe().available);
}

TEST("memory that moved by 32 MiB since the last reading is worth one") {
  Job job({10});
  job.proc.write("10/smaps_rollup", rollup(1, 1));
  CHECK(!job.source.wantsProcesses());
  job.pids.setMemoryBytes(SharedMemory::kMovedBytes);
  CHECK(job.source.wantsProcesses());
  job.read();
  CHECK(!job.source.wantsProcesses());
  job.pids.setMemoryBytes(1);
  CHECK(!job.source.wantsProcesses());
  job.pids.setMemoryBytes(0);
  CHECK(job.source.wantsProcesses());
}
