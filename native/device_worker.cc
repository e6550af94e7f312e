#include "device_worker.h"

#include "governor.h"
#include "sources/nvml.h"
#include "support/clock.h"
#include "tick_schedule.h"

namespace stormlog {
namespace {

// Sleeping in slices bounds how long a stop waits at slow rates.
constexpr uint64_t kSliceNs = 50 * kMillisecond;
constexpr uint64_t kPollNs = 1 * kMillisecond;

}  // namespace

// Owned by the worker and by its thread; the last of them frees it.
struct DeviceWorker::Shared final : RecordSink {
  explicit Shared(const DeviceOptions& o) : options(o), period(o.periodNs), nvml(o.nvmlPath) {}

  void push(const Record& record) override {
    if (!ring.push(record)) lost.fetch_add(1, std::memory_order_relaxed);
  }

  const DeviceOptions options;
  std::atomic<int> owners{1};
  std::atomic<bool> stopAsked{false};
  std::atomic<bool> probed{false};
  std::atomic<bool> finished{false};
  std::atomic<uint64_t> ticks{0};
  std::atomic<uint64_t> missed{0};
  std::atomic<uint64_t> cpu{0};
  std::atomic<uint64_t> period;
  std::atomic<uint64_t> lost{0};
  std::atomic<uint64_t> used{0};
  std::atomic<bool> usedKnown{false};
  // Written by the thread before `probed` is set, never after.
  SourceReport report;
  NvmlSource nvml;
  SpscRing<Record, 4096> ring;
};

DeviceWorker::DeviceWorker(const DeviceOptions& options) : shared_(new Shared(options)) {}

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

void* DeviceWorker::run(void* argument) {
  Shared* shared = static_cast<Shared*>(argument);
  Thread::nameCurrent("slg-device");
  Thread::setTimerSlackFor(shared->options.periodNs);
  shared->report = shared->nvml.probe();
  shared->cpu.store(threadCpuNs(), std::memory_order_relaxed);
  shared->probed.store(true, std::memory_order_release);
  if (shared->report.available && !shared->options.probeOnly) {
    Governor governor(shared->options.periodNs, shared->options.cpuBudget);
    TickSchedule schedule(monotonicNs(), shared->options.periodNs);
    while (!shared->stopAsked.load(std::memory_order_acquire)) {
      uint64_t now = monotonicNs();
      if (schedule.due(now)) {
        shared->nvml.sample(now - shared->options.timeZeroNs, *shared);
        uint64_t used = 0;
        const bool known = shared->nvml.usedBytes(used);
        shared->used.store(used, std::memory_order_relaxed);
        shared->usedKnown.store(known, std::memory_order_relaxed);
        shared->ticks.fetch_add(1, std::memory_order_relaxed);
        now = monotonicNs();
        schedule.advance(now);
        shared->missed.store(schedule.missed(), std::memory_order_relaxed);
        if (governor.due(now)) {
          const uint64_t cpu = threadCpuNs();
          shared->cpu.store(cpu, std::memory_order_relaxed);
          if (governor.update(now, cpu)) {
            schedule.setPeriod(governor.periodNs());
            shared->period.store(governor.periodNs(), std::memory_order_relaxed);
          }
        }
      }
      const uint64_t slice = now + kSliceNs;
      sleepUntilNs(schedule.nextNs() < slice ? schedule.nextNs() : slice);
    }
  }
  shared->cpu.store(threadCpuNs(), std::memory_order_relaxed);
  shared->finished.store(true, std::memory_order_release);
  release(shared);
  return nullptr;
}

bool DeviceWorker::waitProbed(uint64_t timeoutNs) const {
  const uint64_t deadline = monotonicNs() + timeoutNs;
  while (!shared_->probed.load(std::memory_order_acquire)) {
    const uint64_t now = monotonicNs();
    if (now >= deadline) return false;
    sleepUntilNs(now + kPollNs / 4);
  }
  return true;
}

SourceReport DeviceWorker::report() const {
  if (shared_->probed.load(std::memory_order_acquire)) return shared_->report;
  SourceReport report;
  report.name = "nvml";
  report.reason = "the NVIDIA driver has not answered yet";
  return report;
}

std::vector<DeviceReport> DeviceWorker::devices() const {
  if (!shared_->probed.load(std::memory_order_acquire)) return {};
  return shared_->nvml.devices();
}

bool DeviceWorker::take(Record& out) { return shared_->ring.pop(out); }
uint64_t DeviceWorker::ticks() const { return shared_->ticks.load(std::memory_order_relaxed); }
uint64_t DeviceWorker::missed() const { return shared_->missed.load(std::memory_order_relaxed); }
uint64_t DeviceWorker::cpuNs() const { return shared_->cpu.load(std::memory_order_relaxed); }
uint64_t DeviceWorker::periodNs() const { return shared_->period.load(std::memory_order_relaxed); }
uint64_t DeviceWorker::lostRecords() const { return shared_->lost.load(std::memory_order_relaxed); }

bool DeviceWorker::usedBytes(uint64_t& out) const {
  out = shared_->used.load(std::memory_order_relaxed);
  return shared_->usedKnown.load(std::memory_order_relaxed);
}

void DeviceWorker::stop(uint64_t timeoutNs) {
  if (!thread_.running()) return;
  shared_->stopAsked.store(true, std::memory_order_release);
  const uint64_t deadline = monotonicNs() + timeoutNs;
  while (!shared_->finished.load(std::memory_order_acquire) && monotonicNs() < deadline) sleepUntilNs(monotonicNs() + kPollNs);
  if (shared_->finished.load(std::memory_order_acquire)) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

}  // namespace stormlog
