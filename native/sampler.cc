#include "sampler.h"

#include <unistd.h>

#include <cmath>
#include <cstring>

#include "devices/device_backends.h"
#include "governor.h"
#include "support/clock.h"
#include "tick_schedule.h"

namespace stormlog {
namespace {

constexpr uint64_t kFlushNs = 90 * kMillisecond;
// Wakes at slow rates too, so that flushing, device records and a stop do not wait for a tick.
constexpr uint64_t kServiceNs = 50 * kMillisecond;
// Device records carry their own time stamps, so at faster host rates they may wait: polling all device threads costs a
// twentieth of a wake-up. Below the default host period, at which every tick polls.
constexpr uint64_t kServePeriodNs = 4 * kMillisecond;
constexpr uint64_t kCgroupPeriodNs = 100 * kMillisecond;
constexpr uint64_t kDeviceStopNs = 1 * kSecond;
// The device threads widen their own periods above half the budget. The host thread keeps the sum of all threads within
// it.
constexpr double kDeviceBudgetShare = 0.5;

constexpr char kNoSharedMemory[] = "this platform does not list shared pages by process";

uint64_t bitsOf(double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options) : options_(options), thinner_(writer_, options.denseNs, options.file + ".recent") {
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
  host.ignore = options_.ignore;
  host_ = HostSource::create(host);
  hostReport_ = host_->probe();
  if (!options_.probeDirectory.empty()) {
    probe_.reset(new ProbeSource(options_.probeDirectory, startNs_, options_.includeRoot ? 0 : host_->ownPid(options_.rootPid), host_.get()));
    probeReport_ = probe_->probe();
  }

  DeviceOptions device;
  device.timeZeroNs = startNs_;
  device.periodNs = options_.devicePeriodNs;
  device.cpuBudget = options_.cpuBudget < 0 ? -1 : options_.cpuBudget * kDeviceBudgetShare;
  owners_.reset(new DeviceOwners(*host_));
  members_.reset(new int[JobPids::kCapacity]);
  BackendOptions backends;
  backends.nvmlPath = options_.nvmlPath;
  backends.sysRoot = options_.sysRoot;
  backends.procRoot = options_.procRoot;
  for (NamedBackend& each : createDeviceBackends(backends)) {
    workers_.emplace_back(new DeviceWorker(each.name, static_cast<std::unique_ptr<DeviceBackend>&&>(each.backend), device));
    const int deviceError = workers_.back()->start();
    if (deviceError != 0) return deviceError;
  }

  if (std::unique_ptr<DeviceBackend> backend = createSharedMemory(options_.procRoot, options_.rootPid)) {
    device.periodNs = kMaxPeriodNs;
    sharedMemory_.reset(new DeviceWorker("host_shared_once", static_cast<std::unique_ptr<DeviceBackend>&&>(backend), device));
    const int sharedError = sharedMemory_->start();
    if (sharedError != 0) return sharedError;
  }

  pushRate(0, 0);
  hostTick(monotonicNs(), 0);
  // After the first sample, when it is known which processes are the job's.
  cgroup_ = createCgroupSource(options_.procRoot, options_.rootPid, host_.get());
  cgroupReport_ = cgroup_->probe();
  writer_.flush();
  const int threadError = thread_.start(&Sampler::runHost, this);
  if (threadError != 0) return threadError;
  stopped_ = false;
  // The host is sampled while the drivers start up.
  const uint64_t deadline = monotonicNs() + options_.deviceProbeTimeoutNs;
  for (const auto& worker : workers_) worker->waitReady(deadline);
  if (sharedMemory_ != nullptr) sharedMemory_->waitReady(deadline);
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
  // Deadlines that passed during start-up do not count as missed ticks.
  const uint64_t begun = monotonicNs();
  if (schedule.due(begun)) schedule = TickSchedule(begun, options_.hostPeriodNs);
  uint64_t lastFlushNs = begun;
  uint64_t nextServeNs = begun;
  while (!stopAsked_.load(std::memory_order_acquire)) {
    uint64_t now = monotonicNs();
    if (schedule.due(now)) {
      const uint64_t tickNs = now;
      hostTick(tickNs, schedule.latenessNs(tickNs));
      now = monotonicNs();
      schedule.advance(now);
      missed_ = schedule.missed();
      schedule.pass(tickNs + host_->stillForNs());
    }
    bool rateChanged = false;
    if (now >= nextServeNs) {
      nextServeNs = now + kServePeriodNs;
      serveDevices(now);
      const uint64_t devicePeriod = devicePeriodNs();
      rateChanged = devicePeriod != devicePeriod_;
      devicePeriod_ = devicePeriod;
    }
    if (probe_ != nullptr) probe_->sample(now - startNs_, thinner_);
    if (governor.due(now) && governor.update(now, threadCpuNs(), deviceCpuNs())) {
      schedule.setPeriod(governor.periodNs());
      period_ = governor.periodNs();
      rateChanged = true;
    }
    if (rateChanged) pushRate(now - startNs_, deviceCpuNs() + threadCpuNs());
    thinner_.advance(now - startNs_);
    const uint64_t next = schedule.nextNs() < now + kServiceNs ? schedule.nextNs() : now + kServiceNs;
    if (next - lastFlushNs >= kFlushNs) {
      writer_.flush();
      thinner_.flush();
      lastFlushNs = now;
    }
    sleepUntilNs(next);
  }
  cpu_ = threadCpuNs();
}

void Sampler::hostTick(uint64_t nowNs, uint64_t latenessNs) {
  const uint64_t timeNs = nowNs - startNs_;
  host_->setLatenessNs(latenessNs);
  host_->sample(timeNs, thinner_);
  if (cgroup_ != nullptr && timeNs >= nextCgroupNs_) {
    cgroup_->sample(timeNs, thinner_);
    nextCgroupNs_ = timeNs + kCgroupPeriodNs;
  }
  ++ticks_;
  publish(timeNs);
}

void Sampler::serveSharedMemory() {
  Record record;
  while (sharedMemory_ != nullptr && sharedMemory_->take(record)) {
    uint64_t charged = 0;
    if (cgroup_ != nullptr && cgroup_->ownShmem(charged)) record.set(2, charged);
    thinner_.push(record);
  }
}

void Sampler::serveDevices(uint64_t nowNs) {
  const uint64_t timeNs = nowNs - startNs_;
  shareMembers(timeNs);
  Record record;
  usedBytes_ = 0;
  usedKnown_ = false;
  for (const auto& worker : workers_) {
    while (worker->take(record)) {
      if (record.kind == RecordKind::kDeviceProcess) {
        owners_->assign(record, timeNs, thinner_);
        if (record.id > 0) record.id = host_->ownPid(record.id);
      }
      thinner_.push(record);
    }
    if (worker->watchdog(nowNs, record)) thinner_.push(record);
    uint64_t bytes = 0;
    if (!worker->usedBytes(bytes)) continue;
    usedBytes_ += bytes;
    usedKnown_ = true;
  }
  if (sharedMemory_ != nullptr && host_->totals().hostKnown) sharedMemory_->publishMemory(host_->totals().hostBytes);
  serveSharedMemory();
}

void Sampler::shareMembers(uint64_t timeNs) {
  size_t devices = 0;
  for (const auto& worker : workers_) devices += worker->active() ? 1 : 0;
  const size_t active = devices + (sharedMemory_ != nullptr && sharedMemory_->active() ? 1 : 0);
  if (active == 0 || (active == sharedWith_ && host_->membership() == sharedMembership_)) return;
  if (active != sharedWith_ && devices > 0 && options_.cpuBudget >= 0) {
    for (const auto& worker : workers_) worker->setCpuBudget(options_.cpuBudget * kDeviceBudgetShare / static_cast<double>(devices));
  }
  sharedWith_ = active;
  sharedMembership_ = host_->membership();
  const size_t count = host_->members(members_.get(), JobPids::kCapacity);
  owners_->update(members_.get(), count, timeNs);
  for (const auto& worker : workers_) worker->publishPids(members_.get(), count);
  if (sharedMemory_ != nullptr) sharedMemory_->publishPids(members_.get(), count);
}

uint64_t Sampler::deviceCpuNs() const {
  uint64_t sum = sharedMemory_ == nullptr ? 0 : sharedMemory_->cpuNs();
  for (const auto& worker : workers_) sum += worker->cpuNs();
  return sum;
}

// The period of the slowest worker that has devices; the configured one when none has.
uint64_t Sampler::devicePeriodNs() const {
  uint64_t longest = 0;
  for (const auto& worker : workers_) {
    const uint64_t period = worker->active() ? worker->periodNs() : 0;
    if (period > longest) longest = period;
  }
  return longest == 0 ? options_.devicePeriodNs : longest;
}

void Sampler::pushRate(uint64_t timeNs, uint64_t cpuNs) {
  Record record;
  record.timeNs = timeNs;
  record.kind = RecordKind::kRate;
  record.set(0, period_);
  record.set(1, devicePeriod_);
  record.set(2, cpuNs);
  record.set(3, missed_);
  thinner_.push(record);
}

void Sampler::publish(uint64_t timeNs) {
  const HostTotals& totals = host_->totals();
  const double host = static_cast<double>(totals.hostBytes);
  if (totals.hostKnown && (!peakKnown_ || host > peakHost_)) {
    peakHost_ = host;
    peakKnown_ = true;
  }
  const double values[LiveValues::kCount] = {
      static_cast<double>(timeNs),
      static_cast<double>(totals.rssBytes),
      totals.hostKnown ? host : NAN,
      peakKnown_ ? peakHost_ : NAN,
      static_cast<double>(totals.processes),
      usedKnown_ ? static_cast<double>(usedBytes_) : NAN,
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
  // Waits for all drivers together, so that several that hang delay the end no longer than one.
  for (const auto& worker : workers_) worker->askStop();
  if (sharedMemory_ != nullptr) sharedMemory_->askStop();
  const uint64_t deadline = monotonicNs() + kDeviceStopNs;
  for (const auto& worker : workers_) worker->stop(deadline);
  if (sharedMemory_ != nullptr) sharedMemory_->stop(deadline);
  stopAsked_.store(true, std::memory_order_release);
  thread_.join();
  const uint64_t timeNs = monotonicNs() - startNs_;
  serveDevices(startNs_ + timeNs);
  host_->setLatenessNs(0);
  host_->finish(timeNs, thinner_);
  if (cgroup_ != nullptr) cgroup_->sample(timeNs, thinner_);
  if (probe_ != nullptr) probe_->finish(timeNs, thinner_);
  ++ticks_;
  publish(timeNs);
  Record record;
  record.timeNs = timeNs;
  record.kind = RecordKind::kStop;
  record.set(0, ticks_);
  record.set(1, missed_);
  record.set(2, cpu_);
  record.set(3, deviceCpuNs());
  thinner_.push(record);
  writer_.close();
  thinner_.close();
  stats_.ticks = ticks_;
  stats_.missedTicks = missed_;
  for (const auto& worker : workers_) {
    if (!worker->active()) continue;
    DeviceWorkerStats one = worker->stats();
    if (stats_.workers.empty() || one.ticks < stats_.deviceTicks) stats_.deviceTicks = one.ticks;
    stats_.workers.push_back(static_cast<DeviceWorkerStats&&>(one));
  }
  stats_.durationNs = timeNs;
  stats_.hostPeriodNs = period_;
  stats_.devicePeriodNs = devicePeriodNs();
  stats_.cpuNs = cpu_ + deviceCpuNs();
  stats_.writeError = writer_.error();
  return stats_;
}

SourceReport Sampler::unmappedReport() const {
  SourceReport report;
  report.name = "host_unmapped";
  uint64_t charged = 0;
  report.available = sharedMemory_ != nullptr && sharedMemory_->active() && cgroup_ != nullptr && cgroup_->ownShmem(charged);
  if (sharedMemory_ == nullptr) {
    report.reason = kNoSharedMemory;
  } else if (!report.available) {
    report.reason = cgroupReport_.available ? "the job has no cgroup of its own, or shared memory cannot be read" : cgroupReport_.reason;
  }
  return report;
}

std::vector<SourceReport> Sampler::sources() const {
  std::vector<SourceReport> all = {hostReport_, cgroupReport_};
  all.push_back(sharedMemory_ != nullptr ? sharedMemory_->report() : SourceReport{"host_shared_once", false, kNoSharedMemory, {}});
  all.push_back(unmappedReport());
  for (const auto& worker : workers_) all.push_back(worker->report());
  if (probe_ != nullptr) all.push_back(probeReport_);
  return all;
}

std::vector<DeviceReport> Sampler::devices() const {
  std::vector<DeviceReport> all;
  for (const auto& worker : workers_) {
    for (const DeviceReport& device : worker->devices()) all.push_back(device);
  }
  return all;
}

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
