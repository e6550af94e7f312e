// Whether the root's control group holds the job alone, from a made-up /proc and a made-up group.
#include "../../sources/host/cgroup_source.h"
#include "../../sources/host/host_source.h"
#include "../harness.h"
#include "../support.h"

using namespace stormlog;
using namespace testing_support;

namespace {

constexpr int kRoot = 10;
constexpr uint64_t kShmem = 300 << 20;

struct Group {
  explicit Group(const std::string& pids) {
    directory.write("proc/10/mountinfo", "30 20 0:28 / " + (directory / "group") + " rw - cgroup2 cgroup2 rw\n");
    directory.write("proc/10/cgroup", "0::/job\n");
    directory.write("group/job/memory.current", "1\n");
    directory.write("group/job/memory.stat", "anon 0\nshmem " + std::to_string(kShmem) + "\n");
    directory.write("group/job/cgroup.procs", pids);
    HostOptions options;
    options.procRoot = directory / "proc";
    options.rootPid = kRoot;
    host = HostSource::create(options);
  }
  void parentOf(int pid, int parent) {
    directory.write("proc/" + std::to_string(pid) + "/stat",
                    std::to_string(pid) + " (a) S " + std::to_string(parent) + " 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n");
  }
  // As the sampler asks: null when the group is not the job's alone.
  bool shmem(uint64_t& out) {
    source = createCgroupSource(directory / "proc", kRoot, host.get());
    source->probe();
    return source->ownShmem(out);
  }
  TempDirectory directory;
  std::unique_ptr<HostSource> host;
  std::unique_ptr<CgroupSource> source;
};

}  // namespace

TEST("a child that was born after the tree was read belongs to the job") {
  Group group("10\n12\n");
  group.parentOf(12, 11);
  group.parentOf(11, kRoot);
  uint64_t bytes = 0;
  CHECK(group.shmem(bytes));
  CHECK_EQ(bytes, kShmem);
}

TEST("a process that ended while the group was read does not make it another's") {
  Group group("10\n12\n");
  uint64_t bytes = 0;
  CHECK(group.shmem(bytes));
}

TEST("a process of another tree, or one whose parent is unknown, makes the group a shared one") {
  for (const int parent : {1, 0, 11}) {
    Group group("10\n12\n");
    group.parentOf(12, parent);
    uint64_t bytes = 0;
    CHECK(!group.shmem(bytes));
  }
}

TEST("a circle of made-up parents ends") {
  Group group("10\n12\n");
  group.parentOf(12, 11);
  group.parentOf(11, 12);
  uint64_t bytes = 0;
  CHECK(!group.shmem(bytes));
}
