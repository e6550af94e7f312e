#include "sampler.h"

#include <unistd.h>

#include <cmath>
#include <cstring>

#include "governor.h"
#include "sources/cgroup_source.h"
#include "support/clock.h"
#include "tick_schedule.h"

namespace stormlog {
namespace {

constexpr uint64_t kFlushNs = 90 * kMillisecond;
// Wakes at slow rates too, so that flushing, device records and a stop do not wait for a tick.
constexpr uint64_t kServiceNs = 50 * kMillisecond;
constexpr uint64_t kCgroupPeriodNs = 100 * kMillisecond;
constexpr uint64_t kDeviceStopNs = 1 * kSecond;
// The device thread widens its own period above half the budget; the host thread answers for the sum of both.
constexpr double kDeviceBudgetShare = 0.5;

uint64_t bitsOf(double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  for (std::atomic<uint64_t>& value : live_) value.store(bitsOf(NAN), std::memory_order_relaxed);
}

Sampler::~Sampler() { stop(); }

int Sampler::start() {
  stopped_ = true;
  startNs_ = monotonicNs();
  epochNs_ = epochAt(startNs_);
  period_ = options_.hostPeriodNs;
  devicePeriod_ = options_.devicePeriodNs;
  FileHeader header{};
  memcpy(header.magic, kRecordMagic, sizeof header.magic);
  header.headerBytes = kHeaderBytes;
  header.recordBytes = kRecordBytes;
  header.monotonicStartNs = startNs_;
  header.epochNs = epochNs_;
  header.hostPeriodNs = options_.hostPeriodNs;
  header.devicePeriodNs = options_.devicePeriodNs;
  header.rootPid = options_.rootPid;
  header.pageSize = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  const int error = writer_.open(options_.file.c_str(), header);
  if (error != 0) return error;

  HostOptions host;
  host.procRoot = options_.procRoot;
  host.rootPid = options_.rootPid;
  host.includeRoot = options_.includeRoot;
  host.marker = options_.marker;
  host_ = HostSource::create(host);
  hostReport_ = host_->probe();

  DeviceOptions device;
  device.timeZeroNs = startNs_;
  device.periodNs = options_.devicePeriodNs;
  device.cpuBudget = options_.cpuBudget < 0 ? -1 : options_.cpuBudget * kDeviceBudgetShare;
  device.nvmlPath = options_.nvmlPath;
  device_.reset(new DeviceWorker(device));
  const int deviceError = device_->start();
  if (deviceError != 0) return deviceError;

  pushRate(0, 0);
  hostTick(monotonicNs(), 0);
  // After the first sample, when it is known which processes are the job's.
  cgroup_ = createCgroupSource(options_.procRoot, options_.rootPid, host_.get());
  cgroupReport_ = cgroup_->probe();
  writer_.flush();
  const int threadError = thread_.start(&Sampler::runHost, this);
  if (threadError != 0) return threadError;
  stopped_ = false;
  // The host is being sampled while the driver makes up its mind.
  device_->waitProbed(options_.deviceProbeTimeoutNs);
  return 0;
}

void* Sampler::runHost(void* self) {
  static_cast<Sampler*>(self)->hostLoop();
  return nullptr;
}

void Sampler::hostLoop() {
  Thread::nameCurrent("slg-host");
  Thread::setTimerSlackFor(options_.hostPeriodNs);
  Governor governor(options_.hostPeriodNs, options_.cpuBudget);
  TickSchedule schedule(startNs_ + options_.hostPeriodNs, options_.hostPeriodNs);
  // Moments passed while starting up are not missed ticks of the loop.
  const uint64_t begun = monotonicNs();
  if (schedule.due(begun)) schedule = TickSchedule(begun, options_.hostPeriodNs);
  uint64_t lastFlushNs = begun;
  while (!stopAsked_.load(std::memory_order_acquire)) {
    uint64_t now = monotonicNs();
    if (schedule.due(now)) {
      hostTick(now, schedule.latenessNs(now));
      now = monotonicNs();
      schedule.advance(now);
      missed_ = schedule.missed();
    }
    drainDevices();
    const uint64_t devicePeriod = device_->periodNs();
    bool rateChanged = devicePeriod != devicePeriod_;
    devicePeriod_ = devicePeriod;
    if (governor.due(now) && governor.update(now, device_->cpuNs() + threadCpuNs())) {
      schedule.setPeriod(governor.periodNs());
      period_ = governor.periodNs();
      rateChanged = true;
    }
    if (rateChanged) pushRate(now - startNs_, device_->cpuNs() + threadCpuNs());
    const uint64_t next = schedule.nextNs() < now + kServiceNs ? schedule.nextNs() : now + kServiceNs;
    if (next - lastFlushNs >= kFlushNs) {
      writer_.flush();
      lastFlushNs = now;
    }
    sleepUntilNs(next);
  }
  cpu_ = threadCpuNs();
}

void Sampler::hostTick(uint64_t nowNs, uint64_t latenessNs) {
  const uint64_t timeNs = nowNs - startNs_;
  host_->setLatenessNs(latenessNs);
  host_->sample(timeNs, writer_);
  if (cgroup_ != nullptr && timeNs >= nextCgroupNs_) {
    cgroup_->sample(timeNs, writer_);
    nextCgroupNs_ = timeNs + kCgroupPeriodNs;
  }
  ++ticks_;
  publish(timeNs);
}

void Sampler::drainDevices() {
  Record record;
  while (device_->take(record)) writer_.push(record);
}

void Sampler::pushRate(uint64_t timeNs, uint64_t cpuNs) {
  Record record;
  record.timeNs = timeNs;
  record.kind = RecordKind::kRate;
  record.set(0, period_);
  record.set(1, devicePeriod_);
  record.set(2, cpuNs);
  record.set(3, missed_);
  writer_.push(record);
}

void Sampler::publish(uint64_t timeNs) {
  const HostTotals& totals = host_->totals();
  const double host = static_cast<double>(totals.hostBytes);
  if (totals.hostKnown && (!peakKnown_ || host > peakHost_)) {
    peakHost_ = host;
    peakKnown_ = true;
  }
  uint64_t used = 0;
  const bool usedKnown = device_->usedBytes(used);
  const double values[LiveValues::kCount] = {
      static_cast<double>(timeNs),
      static_cast<double>(totals.rssBytes),
      totals.hostKnown ? host : NAN,
      peakKnown_ ? peakHost_ : NAN,
      static_cast<double>(totals.processes),
      usedKnown ? static_cast<double>(used) : NAN,
      static_cast<double>(ticks_),
      static_cast<double>(missed_),
  };
  for (size_t i = 0; i < LiveValues::kCount; ++i) live_[i].store(bitsOf(values[i]), std::memory_order_relaxed);
}

void Sampler::live(double out[LiveValues::kCount]) const {
  for (size_t i = 0; i < LiveValues::kCount; ++i) {
    const uint64_t bits = live_[i].load(std::memory_order_relaxed);
    memcpy(&out[i], &bits, sizeof bits);
  }
}

SamplerStats Sampler::stop() {
  if (stopped_) return stats_;
  stopped_ = true;
  device_->stop(kDeviceStopNs);
  stopAsked_.store(true, std::memory_order_release);
  thread_.join();
  const uint64_t timeNs = monotonicNs() - startNs_;
  drainDevices();
  host_->setLatenessNs(0);
  host_->finish(timeNs, writer_);
  if (cgroup_ != nullptr) cgroup_->sample(timeNs, writer_);
  ++ticks_;
  publish(timeNs);
  Record record;
  record.timeNs = timeNs;
  record.kind = RecordKind::kStop;
  record.set(0, ticks_);
  record.set(1, missed_);
  record.set(2, cpu_);
  record.set(3, device_->cpuNs());
  writer_.push(record);
  writer_.close();
  stats_.ticks = ticks_;
  stats_.missedTicks = missed_;
  stats_.deviceTicks = device_->ticks();
  stats_.durationNs = timeNs;
  stats_.hostPeriodNs = period_;
  stats_.devicePeriodNs = device_->periodNs();
  stats_.cpuNs = cpu_ + device_->cpuNs();
  stats_.writeError = writer_.error();
  return stats_;
}

std::vector<SourceReport> Sampler::sources() const { return {hostReport_, cgroupReport_, device_->report()}; }

std::vector<DeviceReport> Sampler::devices() const { return device_->devices(); }

namespace {

struct EmptyLoopTask {
  uint64_t periodNs;
  uint64_t durationNs;
  EmptyLoopResult result;
};

void* emptyLoop(void* argument) {
  EmptyLoopTask* task = static_cast<EmptyLoopTask*>(argument);
  Thread::setTimerSlackFor(task->periodNs);
  const uint64_t begin = monotonicNs();
  const uint64_t cpu = threadCpuNs();
  TickSchedule schedule(begin, task->periodNs);
  for (uint64_t now = begin; now - begin < task->durationNs; now = monotonicNs()) {
    ++task->result.ticks;
    schedule.advance(now);
    sleepUntilNs(schedule.nextNs());
  }
  task->result.cpuNs = threadCpuNs() - cpu;
  return nullptr;
}

}  // namespace

EmptyLoopResult runEmptyLoop(uint64_t periodNs, uint64_t durationNs) {
  EmptyLoopTask task{periodNs, durationNs, {}};
  Thread thread;
  if (thread.start(&emptyLoop, &task) == 0) thread.join();
  return task.result;
}

}  // namespace stormlog
