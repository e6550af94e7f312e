#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <thread>

#include "../../sources/host/host_source.h"
#include "../../sources/host/procfs.h"
#include "../harness.h"
#include "../support.h"

using namespace stormlog;
using testing_support::Capture;
using testing_support::Child;
using testing_support::sleepMs;
using testing_support::TempDirectory;

namespace {

constexpr double kMiB = 1024.0 * 1024.0;

struct Watch {
  explicit Watch(int rootPid, bool includeRoot = true, const std::string& marker = "", const std::string& procRoot = "/proc",
                 const std::string& ignore = "") {
    HostOptions options;
    options.rootPid = rootPid;
    options.includeRoot = includeRoot;
    options.marker = marker;
    options.ignore = ignore;
    options.procRoot = procRoot;
    source = HostSource::create(options);
    report = source->probe();
    start = monotonicNs();
  }
  void sample() { source->sample(monotonicNs() - start, out); }
  // Samples at 200 Hz; the largest host sum seen.
  double watch(uint64_t ms) {
    const uint64_t end = monotonicNs() + ms * kMillisecond;
    while (monotonicNs() < end) {
      sample();
      const double host = static_cast<double>(source->totals().hostBytes) / kMiB;
      if (host > peak) peak = host;
      sleepMs(5);
    }
    return peak;
  }
  // Samples until `held`, at most for twenty seconds: a busy machine is waited for. Whether it came to hold.
  template <typename Held>
  bool until(Held held) {
    const uint64_t end = monotonicNs() + 20 * kSecond;
    while (!held() && monotonicNs() < end) watch(1);
    return held();
  }
  // Samples until the host sum has been near `mib`, and some more; the largest sum seen.
  double reach(double mib) {
    until([&] { return peak > mib - 5; });
    return watch(100);
  }
  std::unique_ptr<HostSource> source;
  SourceReport report;
  Capture out;
  uint64_t start = 0;
  double peak = 0;
};

double residentMiB(int pid) {
  long total = 0;
  long resident = 0;
  FILE* file = fopen(("/proc/" + std::to_string(pid) + "/statm").c_str(), "re");
  if (file == nullptr) return 0;
  if (fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
  fclose(file);
  return static_cast<double>(resident) * 4096 / kMiB;
}

bool near(double actual, double expected, double tolerance) { return actual > expected - tolerance && actual < expected + tolerance; }

}  // namespace

TEST("a real child that allocates is seen with its size, its high-water mark and its end") {
  Child child({"alloc", "100", "60000"});
  Watch watch(child.pid());
  CHECK(watch.report.available);
  CHECK(near(watch.reach(100), 100, 5));
  CHECK_EQ(watch.source->totals().processes, 1);
  const Record* process = watch.out.last(RecordKind::kProcess, child.pid());
  CHECK(process != nullptr && (process->valid & 1) && near(static_cast<double>(process->v[0]) / kMiB, 101, 5));
  const int pid = child.pid();
  watch.watch(200);
  child.end();
  watch.until([&] { return watch.out.count(RecordKind::kProcessExit) > 0; });
  const Record* exit = watch.out.last(RecordKind::kProcessExit, pid);
  CHECK(exit != nullptr && (exit->valid & 1) && exit->v[0] > 99 * 1024 * 1024);
  // A zombie that is not reaped yet: no memory, no process, no second exit.
  CHECK_EQ(watch.source->totals().processes, 0);
  CHECK_EQ(watch.source->totals().hostBytes, 0);
  child.reap();
  watch.watch(50);
  CHECK_EQ(watch.out.count(RecordKind::kProcessExit), 1);
}

TEST("threads and open descriptors of all processes are counted ten times a second") {
  int opened[30];
  for (int& fd : opened) fd = dup(0);
  // Its child inherits what it inherits.
  Child child({"thread-child", "1", "1500"});
  for (const int fd : opened) close(fd);
  Watch watch(child.pid());
  const Record* counts = nullptr;
  const auto isWhole = [&] { return counts != nullptr && counts->valid == 3 && counts->v[0] >= 60 && counts->v[1] == 3; };
  for (int i = 0; i < 20 && !isWhole(); ++i) {
    watch.watch(50);
    counts = watch.out.last(RecordKind::kCounts);
  }
  CHECK(isWhole());
  CHECK(watch.out.count(RecordKind::kCounts) <= 20);
}

TEST("the child of a thread other than the main one is found") {
  Child child({"thread-child", "60", "5000"});
  Watch watch(child.pid());
  CHECK(near(watch.reach(60), 60, 5));
  CHECK_EQ(watch.source->totals().processes, 2);
}

TEST("a child in another session is found") {
  Child child({"setsid", "60", "3000"});
  Watch watch(child.pid());
  CHECK(near(watch.reach(60), 60, 5));
  CHECK_EQ(watch.out.count(RecordKind::kProcessStart), 2);
}

TEST("a process that double-forked away stays in the tree of its subreaper") {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  Child child({"daemon", "60", "60000"});
  Watch watch(getpid(), false);
  CHECK(near(watch.reach(60), 60, 5));
  // This test program is the root and not counted; its child and the daemon, now its child too, are.
  CHECK(watch.until([&] { return watch.source->totals().processes == 2; }));
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  for (const Record& record : watch.out.records) {
    if (record.kind == RecordKind::kProcessStart) kill(record.id, SIGKILL);
  }
  child.reap();
  while (waitpid(-1, nullptr, 0) > 0) {
  }
}

TEST("a process outside the tree is found by the marker in its environment") {
  Child root({"sleep", "60000"});
  Child stray({"alloc", "60", "60000"}, testing_support::built("child"), "STORMLOG_GATE_RUN=test-marker");
  Child other({"sleep", "60000"}, testing_support::built("child"), "STORMLOG_GATE_RUN=test-marker-of-another");
  Watch watch(root.pid(), true, "STORMLOG_GATE_RUN=test-marker");
  CHECK(near(watch.reach(60), 60, 5));
  watch.watch(200);
  CHECK_EQ(watch.source->totals().processes, 2);
  CHECK(watch.source->owns(stray.pid()));
  CHECK(!watch.source->owns(other.pid()));
}

TEST("a program that is ignored and what it starts are no part of the tree, and what runs beside it is") {
  TempDirectory directory;
  const std::string load = directory.path() + "/load";
  CHECK_EQ(symlink(testing_support::built("child").c_str(), load.c_str()), 0);
  Child shell({"-c", load + " setsid 90 60000 & " + testing_support::built("child") + " alloc 30 60000; wait"}, "/bin/sh");
  Watch watch(shell.pid(), true, "", "/proc", "other\nload");
  const auto left = [&] {
    std::vector<int> pids;
    for (const Record& record : watch.out.records) {
      if (record.kind == RecordKind::kProcessExit && (record.valid & 2) != 0) pids.push_back(record.id);
    }
    return pids;
  };
  // The load, and the process that it forks in a session of its own and that holds the memory.
  CHECK(watch.until([&] { return left().size() == 2 && residentMiB(left()[1]) > 85 && watch.source->totals().hostBytes > 28 * 1024 * 1024; }));
  CHECK(near(watch.peak, 31, 5));
  CHECK_EQ(watch.source->totals().processes, 2);
  int members[8];
  CHECK_EQ(watch.source->members(members, 8), 2);
  for (const int pid : left()) CHECK(watch.source->ignores(pid) && !watch.source->owns(pid));
  CHECK(!watch.source->ignores(shell.pid()));
}

TEST("memory borrowed between vfork and exec is not counted twice") {
  Child child({"vfork", "80", "5000"});
  Watch watch(child.pid());
  CHECK(watch.until([&] { return watch.out.count(RecordKind::kProcessStart) == 2; }));
  watch.watch(200);
  CHECK(near(watch.peak, 80, 5));
}

TEST("a process whose main thread ended is still measured") {
  Child child({"leader-exit", "60", "2000"});
  Watch watch(child.pid());
  CHECK(near(watch.reach(60), 60, 5));
  CHECK_EQ(watch.out.count(RecordKind::kProcessExit), 0);
  // The thread that was followed ends before the process is reaped: it is still the same process.
  watch.until([&] { return watch.out.count(RecordKind::kProcessExit) > 0; });
  watch.watch(50);
  CHECK_EQ(watch.out.count(RecordKind::kProcessStart), 1);
  CHECK_EQ(watch.out.count(RecordKind::kProcessExit), 1);
  child.reap();
  watch.watch(50);
  CHECK_EQ(watch.out.count(RecordKind::kProcessStart), 1);
  CHECK_EQ(watch.out.count(RecordKind::kProcessExit), 1);
}

TEST("a crowd of processes comes, is counted, and goes") {
  Child child({"fork", "150", "60000"});
  Watch watch(child.pid());
  CHECK(watch.until([&] { return watch.source->totals().processes == 151; }));
  watch.watch(50);
  CHECK_EQ(watch.source->totals().processes, 151);
  child.end();
  child.reap();
  CHECK(watch.until([&] { return watch.source->totals().processes == 0; }));
  CHECK_EQ(watch.source->totals().rssBytes, 0);
  CHECK_EQ(watch.out.count(RecordKind::kProcessExit), 151);
}

TEST("many quiet processes do not hide one of them that grows for a short time") {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  Child crowd({"fork", "30", "60000"});
  Watch watch(getpid(), false);
  CHECK(watch.until([&] { return watch.source->totals().processes == 31; }));
  for (int i = 0; i < 4; ++i) {
    watch.peak = 0;
    const double before = watch.watch(50);
    // Quiet for 150 ms, then large until the next sample but two.
    Child grower({"spike", "60", "60000"});
    for (int tries = 0; tries < 2000 && residentMiB(grower.pid()) < 60; ++tries) watch.watch(1);
    for (int more = 0; more < 3; ++more) watch.watch(1);
    CHECK(near(watch.peak - before, 60, 5));
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

TEST("while many processes sleep samples wait for their next check, until one of them moves") {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  Child crowd({"fork", "30", "60000"});
  Watch watch(getpid(), false);
  CHECK(watch.until([&] { return watch.source->totals().processes == 31; }));
  CHECK(watch.until([&] { return watch.source->stillForNs() > 0; }));
  CHECK(watch.source->stillForNs() <= 5 * kMillisecond);
  // What was seen until here holds the copy of this process that became the crowd's parent.
  watch.peak = 0;
  const double before = watch.watch(50);
  Child grower({"spike", "60", "60000"});
  CHECK(watch.until([&] { return watch.peak > before + 30; }));
  CHECK_EQ(watch.source->stillForNs(), 0);
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

TEST("made-up proc content of any kind is survived and reported") {
  for (const char* content : {"", "garbage", "1 2", "\xff\xfe\x00", "99999999999999999999 1 1", "18446744073709551615 18446744073709551615 0\n"}) {
    TempDirectory proc;
    proc.write("10/statm", content);
    proc.write("10/status", content);
    proc.write("10/stat", content);
    proc.write("10/cgroup", content);
    proc.write("10/environ", content);
    proc.write("10/task/10/children", std::string("11 x 12 99999999999999 -4 11 10 ") + content);
    proc.write("11/statm", "100 50 20 0 0 0 0\n");
    proc.write("11/status", "VmHWM: 4000 kB\nRssShmem: 8 kB\n");
    proc.write("11/task/11/children", "");
    proc.write("loadavg", content);
    Watch watch(10, true, "A=b", proc.path());
    watch.watch(60);
    CHECK(watch.source->owns(11));
    CHECK(watch.out.last(RecordKind::kTree) != nullptr);
    watch.source->finish(monotonicNs() - watch.start, watch.out);
  }
}

TEST("parents are scanned where the kernel has no children files") {
  TempDirectory proc;
  const auto process = [&](int pid, int parent, int residentPages) {
    const std::string directory = std::to_string(pid) + "/";
    proc.write(directory + "statm", "1000 " + std::to_string(residentPages) + " 10 0 0 0 0\n");
    proc.write(directory + "status", "VmHWM: 4000 kB\nRssShmem: 0 kB\n");
    proc.write(directory + "stat", std::to_string(pid) + " (x) S " + std::to_string(parent) + " 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0 0\n");
  };
  process(10, 1, 110);
  // The grandchild's pid is below its parent's, as after a wrap of the pid counter.
  process(30, 10, 210);
  process(20, 30, 310);
  process(40, 1, 910);
  Watch watch(10, true, "", proc.path());
  watch.sample();
  CHECK_EQ(watch.source->totals().processes, 3);
  CHECK_EQ(watch.source->totals().hostBytes, 600ull * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  // A changed number is seen through the kept descriptor.
  process(20, 30, 410);
  sleepMs(1);
  watch.watch(30);
  CHECK_EQ(watch.source->totals().hostBytes, 700ull * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
}

TEST("a pass that has to wait does not delay the discovery of the next process") {
  TempDirectory proc;
  proc.write("10/statm", "1000 110 10 0 0 0 0\n");
  proc.write("10/stat", "10 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0 0\n");
  proc.write("20/statm", "1000 210 10 0 0 0 0\n");
  // Who opens it to read waits for a writer.
  const std::string stat = proc.path() + "/20/stat";
  CHECK_EQ(mkfifo(stat.c_str(), 0600), 0);
  std::thread writer([&] {
    sleepMs(1200);
    close(open(stat.c_str(), O_WRONLY | O_CLOEXEC));
  });
  Watch watch(10, true, "", proc.path());
  watch.sample();
  writer.join();
  CHECK_EQ(watch.source->totals().processes, 1);
  unlink(stat.c_str());
  proc.write("20/stat", "20 (x) S 10 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0 0\n");
  CHECK(watch.until([&] { return watch.source->totals().processes == 2; }));
}

TEST("an absent root is a source that is not available, with the reason") {
  TempDirectory proc;
  Watch watch(10, true, "", proc.path());
  CHECK(!watch.report.available);
  CHECK(watch.report.reason.find("10/statm") != std::string::npos);
  watch.sample();
  CHECK_EQ(watch.source->totals().processes, 0);
}
