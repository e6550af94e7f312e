#include "device_worker.h"

#include "../governor.h"
#include "list_pacing.h"
#include "../support/clock.h"
#include "../support/stop_flag.h"
#include "../tick_schedule.h"

namespace stormlog {
namespace {

// How soon a change of the job's processes is seen at slow rates.
constexpr uint64_t kSliceNs = 50 * kMillisecond;
constexpr uint64_t kPollNs = 1 * kMillisecond;
// Assumed costs, until they are measured, of reading a device (NVIDIA's memory query takes 11.6 µs) and of a wake-up.
constexpr uint64_t kReadingNs = 12 * kMicrosecond;
constexpr uint64_t kWakeNs = 20 * kMicrosecond;

// The period at which reading `devices` at the expected cost stays within the budget: many devices begin slower, rather
// than spend their first second above it.
uint64_t startPeriodNs(uint64_t configuredNs, size_t devices, double budget) {
  if (budget <= 0) return configuredNs;
  const double cost = static_cast<double>(devices * kReadingNs + kWakeNs);
  const double period = cost / (budget * Governor::kHeadroom);
  const double maxPeriod = static_cast<double>(Governor::kMaxPeriodNs);
  const uint64_t bounded = static_cast<uint64_t>(period < maxPeriod ? period : maxPeriod);
  return bounded > configuredNs ? bounded : configuredNs;
}

}  // namespace

// Owned by the worker and by its threads; the last of them frees it.
struct DeviceWorker::Shared {
  Shared(const char* n, std::unique_ptr<DeviceBackend> b, const DeviceOptions& o)
      : name(n), options(o), period(o.periodNs), budget(o.cpuBudget), backend(static_cast<std::unique_ptr<DeviceBackend>&&>(b)) {}

  template <size_t Capacity>
  struct Ring final : RecordSink {
    void push(const Record& record) override {
      if (!records.push(record)) lost.fetch_add(1, std::memory_order_relaxed);
    }
    SpscRing<Record, Capacity> records;
    std::atomic<uint64_t> lost{0};
  };

  // Marks the thread as inside a driver call while it exists.
  struct Call {
    explicit Call(Shared& s) : shared(s) { shared.callSinceNs.store(monotonicNs(), std::memory_order_release); }
    ~Call() { shared.callSinceNs.store(0, std::memory_order_release); }
    Shared& shared;
  };

  void work();
  void startWatching();
  void sample(uint64_t nowNs);
  void readLists(uint64_t nowNs);
  uint64_t sinceZero(uint64_t nowNs) const { return nowNs - options.timeZeroNs; }

  const char* const name;
  const DeviceOptions options;
  std::atomic<int> owners{1};
  StopFlag stop;
  std::atomic<bool> probed{false};
  std::atomic<bool> ready{false};
  std::atomic<bool> finished{false};
  // False only while there is a second thread.
  std::atomic<bool> watchFinished{true};
  std::atomic<uint64_t> callSinceNs{0};
  std::atomic<uint64_t> ticks{0};
  std::atomic<uint64_t> missed{0};
  std::atomic<uint64_t> lists{0};
  std::atomic<uint64_t> cpu{0};
  std::atomic<uint64_t> watchCpu{0};
  std::atomic<uint64_t> period;
  std::atomic<double> budget;
  std::atomic<uint64_t> used{0};
  std::atomic<bool> usedKnown{false};
  // Written by the thread before `probed` is set, never after.
  SourceReport report;
  std::vector<DeviceReport> described;
  // Written before `ready` is set, never after: includes the first process list.
  std::vector<DeviceReport> listed;
  JobPids pids;
  std::unique_ptr<DeviceBackend> backend;
  Ring<4096> ring;
  Ring<256> events;
  // The worker's thread only.
  ListPacing pacing;
  uint64_t listedVersion = 0;
};

DeviceWorker::DeviceWorker(const char* name, std::unique_ptr<DeviceBackend> backend, const DeviceOptions& options)
    : shared_(new Shared(name, static_cast<std::unique_ptr<DeviceBackend>&&>(backend), options)) {}

DeviceWorker::~DeviceWorker() {
  stop(0);
  release(shared_);
}

void DeviceWorker::release(Shared* shared) {
  if (shared->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared;
}

int DeviceWorker::start() {
  shared_->owners.fetch_add(1, std::memory_order_relaxed);
  const int error = thread_.start(&DeviceWorker::run, shared_);
  if (error != 0) shared_->owners.fetch_sub(1, std::memory_order_relaxed);
  return error;
}

void DeviceWorker::Shared::sample(uint64_t nowNs) {
  {
    const Call call(*this);
    backend->sample(sinceZero(nowNs), ring);
  }
  uint64_t sum = 0;
  const bool known = backend->usedBytes(sum);
  used.store(sum, std::memory_order_relaxed);
  usedKnown.store(known, std::memory_order_relaxed);
  ticks.fetch_add(1, std::memory_order_relaxed);
}

void DeviceWorker::Shared::readLists(uint64_t nowNs) {
  listedVersion = pids.version();
  const uint64_t cpuBefore = threadCpuNs();
  {
    const Call call(*this);
    backend->sampleProcesses(sinceZero(nowNs), ring);
  }
  const uint64_t cpuAfter = threadCpuNs();
  pacing.done(nowNs, monotonicNs() - nowNs, cpuAfter - cpuBefore);
  cpu.store(cpuAfter, std::memory_order_relaxed);
  lists.fetch_add(1, std::memory_order_relaxed);
}

// The thread is detached from the start: `stop` asks it to end, `watchFinished` reports its end, and it shares
// ownership of its state.
void DeviceWorker::Shared::startWatching() {
  owners.fetch_add(1, std::memory_order_relaxed);
  watchFinished.store(false, std::memory_order_relaxed);
  Thread watcher;
  if (watcher.start(&DeviceWorker::watch, this) == 0) {
    watcher.detach();
  } else {
    watchFinished.store(true, std::memory_order_relaxed);
    owners.fetch_sub(1, std::memory_order_relaxed);
  }
}

void DeviceWorker::Shared::work() {
  backend->follow(&pids);
  report = backend->probe();
  described = backend->devices();
  probed.store(true, std::memory_order_release);
  // The readings from before the measured command runs are the baseline of all later ones.
  if (report.available) {
    sample(monotonicNs());
    readLists(monotonicNs());
  }
  listed = backend->devices();
  cpu.store(threadCpuNs(), std::memory_order_relaxed);
  ready.store(true, std::memory_order_release);
  if (!report.available || options.probeOnly) return;
  if (backend->watches()) startWatching();
  const uint64_t firstPeriodNs = startPeriodNs(options.periodNs, described.size(), budget.load(std::memory_order_relaxed));
  period.store(firstPeriodNs, std::memory_order_relaxed);
  Governor governor(options.periodNs, budget.load(std::memory_order_relaxed), firstPeriodNs);
  TickSchedule schedule(monotonicNs() + firstPeriodNs, firstPeriodNs);
  while (!stop.asked()) {
    uint64_t now = monotonicNs();
    if (schedule.due(now)) {
      sample(now);
      now = monotonicNs();
      schedule.advance(now);
      missed.store(schedule.missed(), std::memory_order_relaxed);
      if (governor.due(now)) {
        const uint64_t used_ = threadCpuNs();
        cpu.store(used_, std::memory_order_relaxed);
        governor.setBudget(budget.load(std::memory_order_relaxed));
        if (governor.update(now, used_ + watchCpu.load(std::memory_order_relaxed))) {
          schedule.setPeriod(governor.periodNs());
          period.store(governor.periodNs(), std::memory_order_relaxed);
        }
      }
    }
    const bool wanted = pids.version() != listedVersion || backend->wantsProcesses();
    if (pacing.due(now, wanted, budget.load(std::memory_order_relaxed))) {
      readLists(now);
      now = monotonicNs();
    }
    const uint64_t slice = now + kSliceNs;
    stop.sleepUntilNs(schedule.nextNs() < slice ? schedule.nextNs() : slice);
  }
  const Call call(*this);
  backend->finish(sinceZero(monotonicNs()), ring);
}

void* DeviceWorker::run(void* argument) {
  Shared* shared = static_cast<Shared*>(argument);
  Thread::nameCurrent("slg-device");
  Thread::setTimerSlackFor(shared->options.periodNs);
  shared->work();
  shared->cpu.store(threadCpuNs(), std::memory_order_relaxed);
  shared->finished.store(true, std::memory_order_release);
  release(shared);
  return nullptr;
}

void* DeviceWorker::watch(void* argument) {
  Shared* shared = static_cast<Shared*>(argument);
  Thread::nameCurrent("slg-health");
  shared->backend->watch(shared->options.timeZeroNs, shared->events, shared->stop);
  shared->watchCpu.store(threadCpuNs(), std::memory_order_relaxed);
  shared->watchFinished.store(true, std::memory_order_release);
  release(shared);
  return nullptr;
}

bool DeviceWorker::waitReady(uint64_t deadlineNs) const {
  while (!shared_->ready.load(std::memory_order_acquire)) {
    const uint64_t now = monotonicNs();
    if (now >= deadlineNs) return false;
    sleepUntilNs(now + kPollNs / 4);
  }
  return true;
}

SourceReport DeviceWorker::report() const {
  if (shared_->probed.load(std::memory_order_acquire)) return shared_->report;
  SourceReport report;
  report.name = shared_->name;
  report.reason = "its driver has not answered yet";
  return report;
}

std::vector<DeviceReport> DeviceWorker::devices() const {
  if (shared_->ready.load(std::memory_order_acquire)) return shared_->listed;
  if (shared_->probed.load(std::memory_order_acquire)) return shared_->described;
  return {};
}

bool DeviceWorker::active() const { return shared_->probed.load(std::memory_order_acquire) && shared_->report.available; }
void DeviceWorker::setCpuBudget(double budget) { shared_->budget.store(budget, std::memory_order_relaxed); }
void DeviceWorker::publishPids(const int* pids, size_t count) { shared_->pids.publish(pids, count); }
void DeviceWorker::publishMemory(uint64_t bytes) { shared_->pids.setMemoryBytes(bytes); }
bool DeviceWorker::take(Record& out) { return shared_->ring.records.pop(out) || shared_->events.records.pop(out); }

bool DeviceWorker::watchdog(uint64_t nowNs, Record& out) {
  const uint64_t since = shared_->callSinceNs.load(std::memory_order_acquire);
  const bool ended = reportedNs_ != 0 && since != reportedNs_;
  // The probe does not count as a stall: waking up an idle GPU may take seconds.
  const bool stalls = reportedNs_ == 0 && since != 0 && nowNs > since + kStallNs;
  if (!ended && !stalls) return false;
  if (stalls) {
    reportedDevice_ = shared_->backend->workingOn();
    if (reportedDevice_ < 0 && shared_->described.size() == 1) reportedDevice_ = shared_->described[0].index;
  }
  const DeviceEvent event = stalls ? DeviceEvent::kStalled : DeviceEvent::kRecovered;
  out = deviceEvent(event, RecordSource::kNone, reportedDevice_, shared_->sinceZero(nowNs));
  out.set(1, nowNs - (stalls ? since : reportedNs_));
  reportedNs_ = stalls ? since : 0;
  return true;
}

uint64_t DeviceWorker::cpuNs() const {
  return shared_->cpu.load(std::memory_order_relaxed) + shared_->watchCpu.load(std::memory_order_relaxed);
}

uint64_t DeviceWorker::periodNs() const { return shared_->period.load(std::memory_order_relaxed); }

DeviceWorkerStats DeviceWorker::stats() const {
  DeviceWorkerStats stats;
  stats.name = report().name;
  stats.devices = devices().size();
  stats.ticks = shared_->ticks.load(std::memory_order_relaxed);
  stats.missed = shared_->missed.load(std::memory_order_relaxed);
  stats.lists = shared_->lists.load(std::memory_order_relaxed);
  stats.periodNs = periodNs();
  stats.cpuNs = cpuNs();
  stats.lostRecords = shared_->ring.lost.load(std::memory_order_relaxed) + shared_->events.lost.load(std::memory_order_relaxed);
  return stats;
}

bool DeviceWorker::usedBytes(uint64_t& out) const {
  out = shared_->used.load(std::memory_order_relaxed);
  return shared_->usedKnown.load(std::memory_order_relaxed);
}

void DeviceWorker::askStop() { shared_->stop.ask(); }

void DeviceWorker::stop(uint64_t deadlineNs) {
  if (!thread_.running()) return;
  askStop();
  const auto ended = [&] {
    return shared_->finished.load(std::memory_order_acquire) && shared_->watchFinished.load(std::memory_order_acquire);
  };
  while (!ended() && monotonicNs() < deadlineNs) sleepUntilNs(monotonicNs() + kPollNs);
  if (shared_->finished.load(std::memory_order_acquire)) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

}  // namespace stormlog
