// What goes wrong with cards while they are measured, and cards that are not read here.
#include <pthread.h>

#include <atomic>
#include <cerrno>

#include "drm_tree.h"
#include "../harness.h"

using namespace stormlog;
using namespace testing_support;

TEST("a machine without a card, or without /sys, has no such devices and a reason") {
  const DrmTree tree;
  DrmUnderTest none(tree);
  CHECK(!none.report.available);
  CHECK(none.report.name == "drm");
  CHECK(none.report.reason == "no card of AMD or Intel is visible");
  CHECK_EQ(none.sample().records.size() + none.list().records.size(), 0);
  DrmBackend missing("/nonexistent", "/nonexistent");
  CHECK(!missing.probe().available);
}

TEST("NVIDIA's cards are left to its library; others that are not read are named with their driver") {
  const DrmTree tree;
  tree.card(0, "0000:01:00.0", "nvidia");
  CHECK(DrmUnderTest(tree).report.reason == "no card of AMD or Intel is visible");
  tree.card(1, "0000:02:00.0", "nouveau");
  tree.card(2, "0000:03:00.0", "");
  tree.amd(3, "0000:04:00.0", 1, kGib);
  DrmUnderTest test(tree);
  CHECK(test.report.available);
  CHECK(test.report.reason == "card1: the driver nouveau shows no memory that could be read; card2: no driver is bound to it");
  CHECK_EQ(test.backend->devices().size(), 1);
  CHECK(test.backend->devices().at(0).name == "amd:0");
}

TEST("a card that vanishes in mid-run ends its samples with one error; the other goes on") {
  const DrmTree tree;
  const std::string device = tree.amd(0, "0000:03:00.0", kMib, kGib);
  tree.amd(1, "0000:0a:00.0", 2 * kMib, kGib);
  DrmUnderTest test(tree);
  CHECK_EQ(test.sample(1).count(RecordKind::kDevice), 2);
  CHECK_EQ(test.list(2).count(RecordKind::kDeviceEvent), 0);
  // A kept descriptor of a removed device's file reads nothing.
  tree.write(device + "/mem_info_vram_used", "");
  tree.remove("sys/class/drm/card0");
  tree.remove("sys/class/drm/renderD128");
  Capture out = test.sample(kSecond);
  CHECK_EQ(out.count(RecordKind::kDevice), 1);
  const Record* error = out.last(RecordKind::kError, kFirst);
  CHECK(error != nullptr);
  CHECK_EQ(error->v[0], ENODEV);
  CHECK_EQ(out.count(RecordKind::kError), 1);
  out = test.sample(100 * kSecond);
  CHECK_EQ(out.records.size(), 1);
  out = test.list(101 * kSecond);
  const Record* count = out.last(RecordKind::kDeviceEvent, -1);
  CHECK(count != nullptr);
  CHECK_EQ(count->v[0], static_cast<uint64_t>(DeviceEvent::kCountChanged));
  CHECK_EQ(count->v[1], 1);
  CHECK(out.last(RecordKind::kDeviceList, kFirst) == nullptr);
  CHECK_EQ(test.list(102 * kSecond).count(RecordKind::kDeviceEvent), 0);
}

TEST("a failing reading is retried at growing intervals, and its recovery is reported") {
  const DrmTree tree;
  const std::string device = tree.amd(0, "0000:03:00.0", kMib, kGib);
  DrmUnderTest test(tree);
  tree.write(device + "/mem_info_vram_used", "");
  size_t errors = 0;
  size_t tries = 0;
  for (uint64_t ms = 0; ms < 10000; ms += 10) {
    const Capture out = test.sample(ms * kMillisecond);
    errors += out.count(RecordKind::kError);
    CHECK_EQ(out.count(RecordKind::kDevice), 0);
    for (const Record& record : out.records) tries = record.kind == RecordKind::kError ? record.v[2] : tries;
  }
  // 20, 40, 80 … 640 ms, then once a second. Reported at each doubling.
  CHECK(tries >= 8 && tries <= 16);
  CHECK(errors >= 4 && errors <= 5);
  tree.number(device + "/mem_info_vram_used", 3 * kMib);
  const Capture out = test.sample(20 * kSecond);
  CHECK_EQ(out.last(RecordKind::kDevice)->v[0], 3 * kMib);
  CHECK_EQ(out.last(RecordKind::kDeviceEvent, kFirst)->v[0], static_cast<uint64_t>(DeviceEvent::kRecovered));
  CHECK_EQ(test.sample(21 * kSecond).records.size(), 1);
}

TEST("a changed size is reported, and used from then on") {
  const DrmTree tree;
  const std::string device = tree.amd(0, "0000:03:00.0", kMib, kGib);
  DrmUnderTest test(tree);
  test.list();
  tree.number(device + "/mem_info_vram_total", 2 * kGib);
  const Capture out = test.list();
  CHECK_EQ(out.last(RecordKind::kDeviceEvent, kFirst)->v[0], static_cast<uint64_t>(DeviceEvent::kCapacityChanged));
  CHECK_EQ(out.last(RecordKind::kDeviceEvent, kFirst)->v[1], 2 * kGib);
  CHECK_EQ(test.sample().last(RecordKind::kDevice)->v[1], 2 * kGib);
  // More used than there is: reported as it is, without a free amount.
  tree.number(device + "/mem_info_vram_used", 3 * kGib);
  const Capture over = test.sample();
  CHECK_EQ(over.last(RecordKind::kDevice)->v[0], 3 * kGib);
  CHECK_EQ(over.last(RecordKind::kDevice)->valid, 3);
}

TEST("a step of memory that no list has explained asks for one") {
  const DrmTree tree;
  const std::string device = tree.amd(0, "0000:03:00.0", 100 * kMib, kGib);
  DrmUnderTest test(tree);
  test.sample();
  CHECK(!test.backend->wantsProcesses());
  test.list();
  tree.number(device + "/mem_info_vram_used", 131 * kMib);
  test.sample();
  CHECK(!test.backend->wantsProcesses());
  tree.number(device + "/mem_info_vram_used", 132 * kMib);
  test.sample();
  CHECK(test.backend->wantsProcesses());
  test.list();
  CHECK(!test.backend->wantsProcesses());
}

TEST("a node that this user may not open is reported with its remedy") {
  const DrmTree tree;
  tree.amd(0, "0000:03:00.0", kMib, kGib);
  tree.node(1, 998, 0x0300, 128, kGib);
  tree.write("dev/dri/renderD128", "");
  tree.write("dev/kfd", "");
  CHECK(DrmUnderTest(tree).backend->devices().at(0).reason.empty());
  chmod((tree.directory() / "dev/dri/renderD128").c_str(), 0600);
  chmod((tree.directory() / "dev/kfd").c_str(), 0600);
  chmod(tree.directory().path().c_str(), 0755);
  std::fflush(stdout);
  if (getuid() != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    // Root may open everything.
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
    const DrmUnderTest test(tree);
    const std::string& reason = test.backend->devices().at(0).reason;
    const char* const expected = "/dev/dri/renderD128 and /dev/kfd may not be opened: add the user to the groups render and video";
    _exit(reason == expected ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 0);
}

TEST("processes that may not be read leave the job's memory unknown where nothing else counts it") {
  const DrmTree tree;
  tree.card(0, "0000:04:00.0", "xe");
  tree.open(500, 3, "/dev/dri/renderD128", xeClient("0000:04:00.0", 1, 1024));
  tree.open(501, 3, "/dev/dri/renderD128", xeClient("0000:04:00.0", 2, 1024));
  chmod((tree.directory() / "proc/501/fd").c_str(), 0700);
  chmod(tree.directory().path().c_str(), 0755);
  std::fflush(stdout);
  if (getuid() != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
    DrmUnderTest test(tree);
    test.follow({500, 501});
    const Capture out = test.list();
    const Record* known = processOn(out, 500, kFirst);
    const Record* unknown = processOn(out, 501, kFirst);
    const Record* error = out.last(RecordKind::kError, 501);
    const bool right = known != nullptr && known->v[0] == kMib && unknown != nullptr && (unknown->valid & 1) == 0 && error != nullptr &&
                       error->v[0] == EACCES && out.last(RecordKind::kDeviceList)->v[2] == 1;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK_EQ(WEXITSTATUS(status), 0);
}

TEST("roots come from the environment only as absolute paths") {
  setenv("STORMLOG_GATE_SYSFS", "/tmp/x/sys", 1);
  CHECK(drmRoot("STORMLOG_GATE_SYSFS", "/sys") == "/tmp/x/sys");
  setenv("STORMLOG_GATE_SYSFS", "sys", 1);
  CHECK(drmRoot("STORMLOG_GATE_SYSFS", "/sys") == "/sys");
  unsetenv("STORMLOG_GATE_SYSFS");
  CHECK(drmRoot("STORMLOG_GATE_SYSFS", "/sys") == "/sys");
}

TEST("pids are published by one thread while another lists processes that come and go") {
  const DrmTree tree;
  tree.amd(0, "0000:03:00.0", kMib, kGib);
  tree.card(1, "0000:04:00.0", "xe");
  for (int pid = 500; pid < 520; ++pid) {
    tree.open(pid, 3, "/dev/dri/renderD128", amdClient("0000:03:00.0", pid, 1024));
    tree.open(pid, 4, "/dev/dri/renderD129", xeClient("0000:04:00.0", pid, 1024));
  }
  DrmUnderTest test(tree);
  static std::atomic<bool> stop;
  stop = false;
  pthread_t publisher;
  pthread_create(&publisher, nullptr, [](void* argument) -> void* {
    JobPids* pids = static_cast<JobPids*>(argument);
    for (int round = 0; !stop; ++round) {
      std::vector<int> list;
      for (int pid = 519; pid >= 500 + round % 10; --pid) list.push_back(pid);
      pids->publish(list.data(), list.size());
    }
    return nullptr;
  }, &test.pids);
  for (int round = 0; round < 60; ++round) {
    if (round == 30) tree.remove("proc/505");
    const Capture sample = test.sample(static_cast<uint64_t>(round) * 1000 * kSecond);
    CHECK(sample.last(RecordKind::kDevice, kFirst) != nullptr);
    const Capture out = test.list(static_cast<uint64_t>(round) * 1000 * kSecond);
    for (const Record& record : out.records) {
      if (record.kind == RecordKind::kDeviceProcess) CHECK(record.id >= 500 && record.id < 520 && record.v[0] == kMib);
    }
  }
  stop = true;
  pthread_join(publisher, nullptr);
}
