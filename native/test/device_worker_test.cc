// The thread of one vendor's devices, with drivers that answer late, fail or hang.
#include "../devices/device_worker.h"

#include <algorithm>

#include "../devices/device_owners.h"
#include "../governor.h"
#include "../devices/list_pacing.h"
#include "harness.h"
#include "support.h"

using namespace stormlog;
using testing_support::Capture;
using testing_support::Child;
using testing_support::sleepMs;

namespace {

// The calls that a backend received, and for how long it blocks; outlives the worker.
struct Plan {
  std::atomic<int> samples{0};
  std::atomic<int> lists{0};
  std::atomic<int> finished{0};
  std::atomic<int> blockSampleMs{0};
  std::atomic<int> blockListMs{0};
  std::atomic<int> blockWatchMs{0};
  std::atomic<int> blockProbeMs{0};
  std::atomic<bool> wants{false};
  std::atomic<int> gone{0};
  // Start times of the first lists, by which the worker paces the next ones.
  std::atomic<uint64_t> listNs[8] = {};
  int devices = 1;
  bool watches = false;
};

class PlannedBackend final : public DeviceBackend {
 public:
  explicit PlannedBackend(Plan& plan) : plan_(plan) {}
  ~PlannedBackend() override { ++plan_.gone; }

  SourceReport probe() override {
    block(plan_.blockProbeMs);
    SourceReport report;
    report.name = "planned";
    report.available = plan_.devices > 0;
    for (int i = 0; i < plan_.devices; ++i) {
      DeviceReport device;
      device.index = 7 + i;
      reports_.push_back(device);
    }
    return report;
  }
  void sample(uint64_t timeNs, RecordSink& out) override {
    working(7);
    block(plan_.blockSampleMs);
    Record record;
    record.timeNs = timeNs;
    record.kind = RecordKind::kDevice;
    record.id = 7;
    out.push(record);
    ++plan_.samples;
  }
  void sampleProcesses(uint64_t timeNs, RecordSink& /*out*/) override {
    block(plan_.blockListMs);
    plan_.wants = false;
    if (plan_.lists < 8) plan_.listNs[plan_.lists] = timeNs;
    ++plan_.lists;
  }
  bool wantsProcesses() const override { return plan_.wants; }
  void finish(uint64_t /*timeNs*/, RecordSink& /*out*/) override { ++plan_.finished; }
  bool watches() const override { return plan_.watches; }
  void watch(uint64_t /*timeZeroNs*/, RecordSink& /*out*/, const StopFlag& stop) override {
    while (!stop.asked()) sleepMs(10);
    block(plan_.blockWatchMs);
  }
  const std::vector<DeviceReport>& devices() const override { return reports_; }
  bool usedBytes(uint64_t& out) const override {
    out = 0;
    return false;
  }

 private:
  static void block(std::atomic<int>& ms) {
    const int length = ms.exchange(0);
    if (length > 0) sleepMs(static_cast<uint64_t>(length));
  }
  Plan& plan_;
  std::vector<DeviceReport> reports_;
};

struct Running {
  explicit Running(Plan& plan, uint64_t periodNs = 10 * kMillisecond, double budget = -1) {
    DeviceOptions options;
    options.timeZeroNs = monotonicNs();
    options.periodNs = periodNs;
    options.cpuBudget = budget;
    worker.reset(new DeviceWorker("planned", std::unique_ptr<DeviceBackend>(new PlannedBackend(plan)), options));
    worker->start();
  }
  uint64_t in(uint64_t ns) const { return monotonicNs() + ns; }
  std::unique_ptr<DeviceWorker> worker;
};

}  // namespace

TEST("the first sample and the first list are there before the worker reports that it is ready") {
  Plan plan;
  plan.blockListMs = 100;
  Running running(plan, kSecond);
  CHECK(running.worker->waitReady(running.in(5 * kSecond)));
  CHECK_EQ(plan.samples.load(), 1);
  CHECK_EQ(plan.lists.load(), 1);
  Record record;
  CHECK(running.worker->take(record));
  running.worker->stop(running.in(kSecond));
  CHECK_EQ(plan.finished.load(), 1);
}

TEST("a worker whose backend finds nothing ends at once") {
  Plan plan;
  plan.devices = 0;
  Running running(plan);
  CHECK(running.worker->waitReady(running.in(5 * kSecond)));
  CHECK(!running.worker->active());
  sleepMs(50);
  CHECK_EQ(plan.samples.load(), 0);
  CHECK_EQ(running.worker->stats().ticks, 0);
  const uint64_t begin = monotonicNs();
  running.worker->stop(running.in(kSecond));
  CHECK(monotonicNs() - begin < 200 * kMillisecond);
}

TEST("a call that hangs is reported once with its device, and again when it returns") {
  Plan plan;
  Running running(plan);
  running.worker->waitReady(running.in(5 * kSecond));
  plan.blockSampleMs = 1700;
  Capture reports;
  Record record;
  const uint64_t begin = monotonicNs();
  while (monotonicNs() - begin < 2300 * kMillisecond) {
    if (running.worker->watchdog(monotonicNs(), record)) reports.push(record);
    sleepMs(10);
  }
  running.worker->stop(running.in(kSecond));
  CHECK_EQ(reports.records.size(), 2);
  if (reports.records.size() != 2) return;
  CHECK_EQ(reports.records[0].v[0], static_cast<uint64_t>(DeviceEvent::kStalled));
  CHECK_EQ(reports.records[0].id, 7);
  CHECK(reports.records[0].v[1] > kSecond && reports.records[0].v[1] < 1400 * kMillisecond);
  CHECK_EQ(reports.records[1].v[0], static_cast<uint64_t>(DeviceEvent::kRecovered));
  CHECK(reports.records[1].v[1] >= 1700 * kMillisecond);
  CHECK(plan.samples > 10);
}

TEST("threads that hang hold up the stop no longer than allowed, and free their state when they come back") {
  for (const bool inWatch : {false, true}) {
    Plan plan;
    plan.watches = true;
    {
      Running running(plan);
      running.worker->waitReady(running.in(5 * kSecond));
      // Only the stop begins a watch that hangs.
      std::atomic<int>& block = inWatch ? plan.blockWatchMs : plan.blockSampleMs;
      block = 1800;
      for (int i = 0; i < 500 && !inWatch && block != 0; ++i) sleepMs(10);
      running.worker->stop(running.in(100 * kMillisecond));
      running.worker.reset();
      // A stop that waits for them would find their state freed.
      CHECK_EQ(plan.gone.load(), 0);
    }
    for (int i = 0; i < 600 && plan.gone == 0; ++i) sleepMs(10);
    CHECK_EQ(plan.gone.load(), 1);
  }
}

TEST("a probe that hangs delays no sample and is not a stall") {
  Plan plan;
  plan.blockProbeMs = 1400;
  Running running(plan);
  CHECK(!running.worker->waitReady(running.in(50 * kMillisecond)));
  CHECK(running.worker->report().name == "planned");
  CHECK(running.worker->report().reason.find("not answered") != std::string::npos);
  sleepMs(1150);
  Record record;
  CHECK(!running.worker->watchdog(monotonicNs(), record));
  CHECK(running.worker->waitReady(running.in(5 * kSecond)));
  CHECK_EQ(running.worker->devices().size(), 1);
  running.worker->stop(running.in(kSecond));
}

TEST("lists come when something happened, and a change of the job's processes is something") {
  Plan plan;
  Running running(plan, 5 * kMillisecond);
  running.worker->waitReady(running.in(5 * kSecond));
  const auto waitForLists = [&](int count) {
    for (int i = 0; i < 800 && plan.lists < count; ++i) sleepMs(5);
    CHECK_EQ(plan.lists.load(), count);
  };
  const auto gap = [&](int i) { return plan.listNs[i] - plan.listNs[i - 1]; };
  CHECK_EQ(plan.lists.load(), 1);
  const int pids[] = {1, 2, 3};
  running.worker->publishPids(pids, 3);
  waitForLists(2);
  plan.wants = true;
  waitForLists(3);
  waitForLists(4);
  running.worker->stop(running.in(kSecond));
  CHECK(gap(1) >= 250 * kMillisecond && gap(1) < gap(3));
  CHECK(gap(2) >= 250 * kMillisecond && gap(2) < gap(3));
  // Nothing happened.
  CHECK(gap(3) >= kSecond);
  CHECK_EQ(running.worker->stats().lists, 4);
}

TEST("after the first three, lists never take more than a two-hundredth of the time, nor half the thread's budget") {
  ListPacing pacing;
  CHECK(pacing.due(0, false, 0.005));
  pacing.done(0, 40 * kMillisecond, 40 * kMillisecond);
  CHECK(!pacing.due(240 * kMillisecond, true, 0.005));
  CHECK(pacing.due(250 * kMillisecond, true, 0.005));
  pacing.done(250 * kMillisecond, 40 * kMillisecond, 40 * kMillisecond);
  CHECK(!pacing.due(1240 * kMillisecond, false, 0.005));
  CHECK(pacing.due(1250 * kMillisecond, false, 0.005));
  pacing.done(1000 * kMillisecond, 1 * kMillisecond, 0);
  CHECK(!pacing.due(1240 * kMillisecond, true, -1));
  CHECK(pacing.due(1250 * kMillisecond, true, -1));
  CHECK(!pacing.due(1990 * kMillisecond, false, -1));
  CHECK(pacing.due(2000 * kMillisecond, false, -1));
  pacing.done(1900 * kMillisecond, 40 * kMillisecond, 0);
  CHECK(pacing.due(2150 * kMillisecond, true, -1));
  pacing.done(2 * kSecond, 40 * kMillisecond, 0);
  CHECK(!pacing.due(9900 * kMillisecond, true, -1));
  CHECK(pacing.due(10 * kSecond, true, -1));
  // 5 ms of CPU time at half of half a percent: 2 s.
  pacing.done(10 * kSecond, 5 * kMillisecond, 5 * kMillisecond);
  CHECK(!pacing.due(11900 * kMillisecond, true, 0.005));
  CHECK(pacing.due(12 * kSecond, true, 0.005));
}

TEST("many devices begin slower, and return to the asked rate when they prove cheap") {
  Plan one;
  Plan eight;
  eight.devices = 8;
  Running few(one, 20 * kMillisecond, 0.005);
  Running many(eight, 20 * kMillisecond, 0.005);
  few.worker->waitReady(few.in(5 * kSecond));
  many.worker->waitReady(many.in(5 * kSecond));
  sleepMs(50);
  CHECK_EQ(few.worker->periodNs(), 20 * kMillisecond);
  CHECK_EQ(many.worker->periodNs(), 29 * kMillisecond);
  few.worker->stop(few.in(kSecond));
  many.worker->stop(many.in(kSecond));
  Governor governor(20 * kMillisecond, 0.005, 29 * kMillisecond);
  governor.update(0, 0);
  CHECK(governor.update(kSecond, 1 * kMillisecond));
  CHECK_EQ(governor.periodNs(), 20 * kMillisecond);
  CHECK(governor.update(2 * kSecond, 10 * kMillisecond));
  CHECK_EQ(governor.periodNs(), 40 * kMillisecond);
  // What others use counts, but a shorter period does not double it: 2 x 1.5 + 0.5 is under four fifths of 5, 1.5 x 2.4
  // + 0.5 is not.
  CHECK(!governor.update(3 * kSecond, 12400 * kMicrosecond, kMillisecond / 2));
  CHECK(governor.update(4 * kSecond, 13900 * kMicrosecond, kMillisecond));
  CHECK_EQ(governor.periodNs(), 20 * kMillisecond);
  // A tenth of the budget is not what makes others exceed it, three tenths are worth saving.
  CHECK(!governor.update(5 * kSecond, 14400 * kMicrosecond, 6 * kMillisecond));
  CHECK(governor.update(6 * kSecond, 15900 * kMicrosecond, 11 * kMillisecond));
}

TEST("processes of the job are owned also just after their end, others are not, and pids without a process are unknown") {
  Child child({"sleep", "5000"});
  HostOptions options;
  options.rootPid = getpid();
  options.includeRoot = false;
  const std::unique_ptr<HostSource> host = HostSource::create(options);
  host->probe();
  Capture out;
  host->sample(0, out);
  DeviceOwners owners(*host);
  int pids[16];
  owners.update(pids, host->members(pids, 16), 0);
  const auto ownerOf = [&](int pid, uint64_t timeNs) {
    Record record;
    record.kind = RecordKind::kDeviceProcess;
    record.id = pid;
    owners.assign(record, timeNs, out);
    return (record.valid & 4) == 0 ? -1 : static_cast<int>(record.v[2]);
  };
  CHECK_EQ(ownerOf(child.pid(), 1), 1);
  CHECK_EQ(ownerOf(getppid(), 1), 0);
  CHECK_EQ(ownerOf(4194304 + 17, 1), -1);
  Record unowned;
  unowned.kind = RecordKind::kDeviceProcess;
  unowned.id = child.pid();
  unowned.v[2] = kOwnerUnknown;
  owners.assign(unowned, 1, out);
  CHECK(!(unowned.valid & 4) && unowned.v[2] == 0);
  const int pid = child.pid();
  const uint64_t before = host->membership();
  child.end();
  child.reap();
  host->sample(kSecond, out);
  CHECK(host->membership() > before);
  owners.update(pids, host->members(pids, 16), kSecond);
  CHECK_EQ(ownerOf(pid, 2 * kSecond), 1);
  CHECK_EQ(ownerOf(pid, 20 * kSecond), -1);
}

TEST("a stop does not wait for a worker that sleeps") {
  uint64_t shortest = kSecond;
  for (int round = 0; round < 10; ++round) {
    Plan plan;
    Running running(plan, 100 * kSecond);
    CHECK(running.worker->waitReady(running.in(5 * kSecond)));
    // Into its sleep.
    sleepMs(10);
    const uint64_t asked = monotonicNs();
    running.worker->stop(running.in(5 * kSecond));
    shortest = std::min(shortest, monotonicNs() - asked);
    CHECK_EQ(plan.finished.load(), 1);
  }
  // Of ten stops one is undisturbed. One that waits takes at least the rest of a slice of 50 ms.
  CHECK(shortest < 30 * kMillisecond);
}
