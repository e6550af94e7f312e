#include "../../sources/drm/fdinfo.h"

#include <cerrno>

#include "../../sources/drm/fdinfo_scan.h"
#include "drm_tree.h"
#include "../harness.h"

using namespace stormlog;
using namespace testing_support;

namespace {

FdInfo parsed(const std::string& text, bool expected = true) {
  FdInfo info;
  CHECK_EQ(parseFdInfo(text.data(), text.size(), info), expected);
  return info;
}

uint64_t bytesOf(const FdMemory& memory) {
  uint64_t bytes = 0;
  return memory.bytes(bytes) ? bytes : UINT64_MAX;
}

struct Seen final : FdInfoVisitor {
  struct Client {
    int pid;
    int minor;
    uint64_t id;
    uint64_t bytes;
  };
  void client(int pid, int minor, const FdInfo& info) override { clients.push_back(Client{pid, minor, info.client, bytesOf(info.card)}); }
  void refused(int pid, int error) override {
    refusedPid = pid;
    refusedError = error;
  }
  std::vector<Client> clients;
  int refusedPid = 0;
  int refusedError = 0;
};

}  // namespace

TEST("fdinfo of amdgpu before Linux 5.19 is read, where kB means KiB and the client is the pasid") {
  const FdInfo info = parsed("pos:\t0\npdev:\t0000:0a:00.0\npasid:\t32770\nvram mem:\t2048 kB\ngtt mem:\t512 kB\ncpu mem:\t0 kB\ngfx0:\t0.31%\n");
  CHECK(std::string(info.pci) == "0000:0a:00.0");
  CHECK(info.hasClient);
  CHECK_EQ(info.client, 32770);
  CHECK_EQ(bytesOf(info.card), 2 * kMib);
  CHECK_EQ(bytesOf(info.host), 512 * kKib);
}

TEST("fdinfo of amdgpu with both drm-memory and drm-resident is counted once, by what is resident") {
  const FdInfo info = parsed(
      "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\ndrm-total-vram:\t9 MiB\ndrm-shared-vram:\t0\ndrm-resident-vram:\t7 MiB\n"
      "drm-memory-vram:\t7168 KiB\ndrm-memory-gtt:\t4096\n");
  CHECK_EQ(bytesOf(info.card), 7 * kMib);
  CHECK_EQ(bytesOf(info.host), 4096);
  CHECK_EQ(parsed(amdClient("0000:03:00.0", 9, 1)).client, 9);
}

TEST("fdinfo of i915 and xe: local0 and vram0 count as the card's, system0 and gtt as the machine's, stolen memory as neither") {
  const FdInfo i915 = parsed(
      "drm-driver:\ti915\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\ndrm-total-system0:\t16 MiB\ndrm-resident-system0:\t12 MiB\n"
      "drm-total-local0:\t64 MiB\ndrm-resident-local0:\t48 MiB\ndrm-total-stolen-local0:\t8 MiB\ndrm-resident-stolen-local0:\t8 MiB\n");
  CHECK_EQ(bytesOf(i915.card), 48 * kMib);
  CHECK_EQ(bytesOf(i915.host), 12 * kMib);
  const FdInfo xe = parsed(xeClient("0000:03:00.0", 3, 23992));
  CHECK_EQ(bytesOf(xe.card), 23992 * kKib);
  CHECK_EQ(bytesOf(xe.host), 192 * kKib);
  // Two tiles are one card.
  CHECK_EQ(bytesOf(parsed("drm-resident-vram0:\t1 MiB\ndrm-resident-vram1:\t2 MiB\n").card), 3 * kMib);
}

TEST("a graphics client is listed with unknown memory where the kernel does not count it") {
  const FdInfo info = parsed("drm-driver:\ti915\ndrm-client-id:\t7\ndrm-engine-render:\t9288864723 ns\n");
  CHECK_EQ(bytesOf(info.card), UINT64_MAX);
  CHECK_EQ(bytesOf(info.host), UINT64_MAX);
  CHECK(info.hasClient);
}

TEST("garbage, huge numbers and cut lines of fdinfo give no number") {
  parsed("", false);
  parsed("pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t7\n", false);
  parsed("eventfd-count:                0\n", false);
  CHECK_EQ(bytesOf(parsed("drm-resident-vram:\t12x KiB\n").card), UINT64_MAX);
  CHECK_EQ(bytesOf(parsed("drm-resident-vram:\t99999999999999999999999 KiB\n").card), UINT64_MAX);
  CHECK_EQ(bytesOf(parsed("drm-resident-vram:\t18446744073709551615 KiB\n").card), UINT64_MAX);
  CHECK_EQ(bytesOf(parsed("drm-resident-vram:\t-5 KiB\n").card), UINT64_MAX);
  CHECK_EQ(bytesOf(parsed("drm-resident-vram:\t5 parsec\n").card), UINT64_MAX);
  CHECK_EQ(bytesOf(parsed("drm-resident-vram:\n").card), UINT64_MAX);
  // "1234567 KiB" cut within the number would be a wrong number.
  CHECK_EQ(bytesOf(parsed("drm-pdev:\t0000:03:00.0\ndrm-resident-vram:\t123").card), UINT64_MAX);
  std::string zeros(5000, '\0');
  parsed(zeros, false);
  parsed("drm-pdev:\t" + std::string(4000, '7') + "\ndrm-resident-vram0123456789x:\t5\n");
  // Any prefix of a real one is taken without harm, and never gives another number.
  const std::string whole = xeClient("0000:03:00.0", 3, 23992);
  for (size_t size = 0; size <= whole.size(); ++size) {
    FdInfo info;
    parseFdInfo(whole.data(), size, info);
    const uint64_t bytes = bytesOf(info.card);
    CHECK(bytes == UINT64_MAX || bytes == 23992 * kKib || bytes == 2 * 23992 * kKib);
  }
  // Random bytes and flipped bits: no crash, which the sanitizers watch.
  uint32_t seed = 7;
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    for (int flips = 0; flips < 6; ++flips) {
      seed = seed * 1664525u + 1013904223u;
      text[seed % text.size()] = static_cast<char>(seed >> 24);
    }
    FdInfo info;
    parseFdInfo(text.data(), text.size(), info);
  }
}

TEST("the scan finds a process's graphics devices among its descriptors, also those opened later and those with high numbers") {
  const DrmTree tree;
  const Child child({"sleep", "60000"});
  const int pid = child.pid();
  for (int fd = 0; fd < 20; ++fd) tree.open(pid, fd, fd % 2 == 0 ? "/tmp/file" : "socket:[123]", "pos:\t0\nflags:\t02\n");
  tree.open(pid, 7, "/dev/dri/renderD129", amdClient("0000:03:00.0", 5, 100));
  FdInfoScan scan(tree.proc(), 64);
  Seen first;
  scan.find(&pid, 1, first);
  CHECK_EQ(first.clients.size(), 1);
  CHECK_EQ(first.clients.at(0).minor, 129);
  CHECK_EQ(first.clients.at(0).bytes, 100 * kKib);
  tree.open(pid, 0, "/dev/dri/card1", amdClient("0000:03:00.0", 6, 10));
  tree.open(pid, 30, "/dev/dri/renderD128", amdClient("0000:0a:00.0", 7, 200));
  tree.open(pid, 5000, "/dev/dri/renderD128", amdClient("0000:0a:00.0", 8, 300));
  Seen again;
  scan.readAgain(&pid, 1, again);
  CHECK_EQ(again.clients.size(), 1);
  Seen second;
  scan.find(&pid, 1, second);
  CHECK_EQ(second.clients.size(), 4);
  tree.close(pid, 30);
  Seen third;
  scan.find(&pid, 1, third);
  CHECK_EQ(third.clients.size(), 3);
}

TEST("a number that was a file and is a graphics device now is found within eight scans") {
  const DrmTree tree;
  const Child child({"sleep", "60000"});
  const int pid = child.pid();
  tree.open(pid, 9, "/tmp/file", "pos:\t0\n");
  FdInfoScan scan(tree.proc(), 64);
  Seen none;
  scan.find(&pid, 1, none);
  CHECK_EQ(none.clients.size(), 0);
  tree.open(pid, 9, "/dev/dri/renderD128", amdClient("0000:03:00.0", 5, 100));
  int rounds = 0;
  for (Seen seen; seen.clients.empty() && rounds < 20; ++rounds) scan.find(&pid, 1, seen);
  CHECK(rounds <= static_cast<int>(FdInfoScan::kRounds));
}

TEST("a process that reuses the pid of an ended one is read again") {
  const DrmTree tree;
  const int pid = 4711;
  tree.open(pid, 9, "/tmp/file", "pos:\t0\n");
  tree.open(pid, 10, "/dev/dri/renderD128", amdClient("0000:03:00.0", 5, 100));
  FdInfoScan scan(tree.proc(), 64);
  Seen before;
  scan.find(&pid, 1, before);
  CHECK_EQ(before.clients.size(), 1);
  tree.remove("proc/4711");
  sleepMs(20);
  Seen gone;
  scan.find(&pid, 1, gone);
  CHECK_EQ(gone.clients.size(), 0);
  CHECK_EQ(gone.refusedError, 0);
  tree.open(pid, 9, "/dev/dri/renderD128", amdClient("0000:03:00.0", 6, 300));
  Seen after;
  scan.find(&pid, 1, after);
  CHECK_EQ(after.clients.size(), 1);
  if (after.clients.size() == 1) CHECK_EQ(after.clients[0].id, 6);
}

TEST("thousands of processes come and go without one being lost or kept") {
  const DrmTree tree;
  FdInfoScan scan(tree.proc(), 64);
  std::vector<int> pids;
  for (int i = 0; i < 40; ++i) {
    pids.push_back(1000 + 1024 * i);
    tree.open(pids.back(), 3, "/dev/dri/renderD128", amdClient("0000:03:00.0", i + 1, 1));
  }
  for (int round = 0; round < 60; ++round) {
    // A sliding window: slots are freed in the middle of chains.
    const size_t from = static_cast<size_t>(round) % 20;
    Seen seen;
    scan.find(pids.data() + from, 20, seen);
    CHECK_EQ(seen.clients.size(), 20);
    Seen again;
    scan.readAgain(pids.data() + from, 20, again);
    CHECK_EQ(again.clients.size(), 20);
  }
  std::vector<int> many;
  for (int i = 1; i <= 3000; ++i) many.push_back(i);
  Seen seen;
  scan.find(many.data(), many.size(), seen);
  CHECK_EQ(seen.refusedError, EOVERFLOW);
}

TEST("what is kept open is bounded, given back with its process, and makes no difference") {
  const DrmTree tree;
  std::vector<int> pids;
  for (int pid = 900; pid < 930; ++pid) {
    pids.push_back(pid);
    tree.open(pid, 3, "/dev/dri/renderD128", amdClient("0000:03:00.0", pid, 1));
  }
  const auto openNow = [] {
    size_t count = 0;
    DIR* directory = opendir("/proc/self/fd");
    while (readdir(directory) != nullptr) ++count;
    closedir(directory);
    return count;
  };
  const size_t before = openNow();
  for (const size_t maxKept : {0, 10, 100}) {
    FdInfoScan scan(tree.proc(), maxKept);
    for (int round = 0; round < 3; ++round) {
      Seen seen;
      scan.find(pids.data(), pids.size(), seen);
      CHECK_EQ(seen.clients.size(), 30);
    }
    CHECK_EQ(openNow() - before, maxKept < 30 ? maxKept : 30);
    Seen seen;
    scan.find(pids.data(), 5, seen);
    CHECK(openNow() - before <= 5);
    scan.find(pids.data(), 0, seen);
    CHECK_EQ(openNow(), before);
  }
  CHECK_EQ(openNow(), before);
}

TEST("a process of another user may not be read, and that is reported") {
  const int pid = 1;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    // Root may read everything.
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(2);
    FdInfoScan scan("/proc", 64);
    Seen seen;
    scan.find(&pid, 1, seen);
    _exit(seen.refusedPid == 1 && (seen.refusedError == EACCES || seen.refusedError == EPERM) && seen.clients.empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 0);
}

TEST("the kernel's own /proc is scanned: this process has no graphics device, and refuses nothing") {
  const int pid = getpid();
  FdInfoScan scan("/proc", 64);
  Seen seen;
  for (int i = 0; i < 3; ++i) scan.find(&pid, 1, seen);
  CHECK_EQ(seen.clients.size(), 0);
  CHECK_EQ(seen.refusedError, 0);
}
