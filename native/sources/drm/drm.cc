// Finding the cards, naming them, and reading their memory.

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "../../support/clock.h"
#include "../../support/errno_name.h"
#include "../../support/pid_namespace.h"
#include "drm_backend.h"
#include "drm_sysfs.h"

namespace stormlog {
namespace {

// A failed reading is retried after this time, then at growing intervals of up to a second.
constexpr uint64_t kFirstRetryNs = 20 * kMillisecond;
constexpr uint64_t kMaxRetryNs = 1 * kSecond;
// Reading known descriptors again takes at most 1/400 of the time: half of what the worker allows for process lists.
constexpr uint64_t kQuickShare = 400;

// A share of this process's limit of open files, and at most what the largest machines need.
size_t maxKept() {
  rlimit limit{};
  constexpr size_t kMax = 1024;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return limit.rlim_cur / 8 < kMax ? static_cast<size_t>(limit.rlim_cur / 8) : kMax;
}

}  // namespace

DrmBackend::DrmBackend(const std::string& sysRoot, const std::string& procRoot)
    : sysRoot_(sysRoot), procRoot_(procRoot) {}

std::string DrmBackend::whatIsNotRead(const std::vector<DrmCard>& cards) const {
  std::string text;
  for (const DrmCard& card : cards) {
    const bool read = (card.driver == "amdgpu" && !card.pci.empty()) || card.driver == "i915" || card.driver == "xe";
    // NVIDIA's own driver is read through its library. A partition of an AMD card is a device of its own below.
    if (read || card.driver == "nvidia" || card.device.compare(0, 10, "amdgpu_xcp") == 0) continue;
    if (!text.empty()) text += "; ";
    text += "card" + std::to_string(card.number) + ": ";
    text += card.driver.empty() ? std::string("no driver is bound to it") : "the driver " + card.driver + " shows no memory that could be read";
  }
  return text;
}

void DrmBackend::nameDevices() {
  std::vector<size_t> order(devices_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return devices_[a].order != devices_[b].order ? devices_[a].order < devices_[b].order : a < b;
  });
  int amd = 0;
  int intel = 0;
  for (size_t i : order) {
    DrmDevice& device = devices_[i];
    device.report.index = kDrmDevices + static_cast<int>(i);
    if (!device.isAmd) {
      device.report.name = "xpu:" + std::to_string(intel++);
    } else if (device.hasPartitions) {
      // Programs compute on its partitions only.
      device.report.name = "amd:card" + std::to_string(device.cardNumber);
    } else {
      device.report.name = "amd:" + std::to_string(amd++);
    }
    if (device.parent >= 0) device.report.parent = kDrmDevices + device.parent;
  }
}

void DrmBackend::finishReports() {
  for (size_t i = 0; i < devices_.size(); ++i) {
    DeviceReport& report = devices_[i].report;
    uint64_t used = 0;
    if (devices_[i].canReadUsed()) {
      const int error = devices_[i].readUsed(used);
      if (error == 0) {
        report.capabilities.push_back("memory");
        if (report.unified) report.capabilities.push_back("memory:shared");
      } else {
        report.addReason(std::string("its memory cannot be read (") + errnoName(error) + ")");
      }
    }
    anyWithoutUsed_ |= !devices_[i].canReadUsed() && !devices_[i].hasPartitions && !kfd_.counts(static_cast<int>(i));
    report.capabilities.push_back("processes");
    // Without the compute driver only the job's own processes are read.
    report.capabilities.push_back(kfd_.counts(static_cast<int>(i)) ? "processes:kfd" : "processes:job");
    report.capabilities.push_back("processes:fdinfo");
    reports_.push_back(report);
  }
}

SourceReport DrmBackend::probe() {
  SourceReport report;
  report.name = "drm";
  const std::vector<DrmCard> cards = findCards(sysRoot_);
  cards_ = static_cast<int>(cards.size());
  report.reason = whatIsNotRead(cards);
  const std::vector<KfdNode> nodes = findKfdNodes(sysRoot_);
  std::vector<int> nodeDevices;
  findAmdDevices(sysRoot_, cards, nodes, devices_, nodeDevices);
  findIntelDevices(sysRoot_, cards, devices_);
  if (devices_.empty()) {
    if (report.reason.empty()) report.reason = "no card of AMD or Intel is visible";
    return report;
  }
  kfd_.open(sysRoot_, nodes, nodeDevices, maxKept());
  nameDevices();
  finishReports();
  states_.resize(devices_.size());
  for (size_t i = 0; i < devices_.size(); ++i) states_[i].total = devices_[i].total;
  fdinfo_.reset(new FdInfoScan(procRoot_, maxKept()));
  usage_.reset(new DrmUsageTable());
  clients_.reset(new DrmClients());
  jobPids_.reset(new int[JobPids::kCapacity]);
  scratchPids_.reset(new int[JobPids::kCapacity]);
  leaveOut_.reset(new bool[devices_.size()]());
  foreignPids_ = inPidNamespace(procRoot_);
  report.available = true;
  report.capabilities.push_back("memory");
  if (kfd_.available()) report.capabilities.push_back(foreignPids_ ? "kfd:host-pids" : "kfd");
  report.capabilities.push_back("fdinfo");
  return report;
}

void DrmBackend::event(DeviceEvent what, int id, uint64_t code, uint64_t timeNs, RecordSink& out) const {
  Record record = deviceEvent(what, RecordSource::kAmd, id, timeNs);
  for (const DrmDevice& device : devices_) {
    if (device.report.index == id) record.source = device.source;
  }
  record.set(1, code);
  out.push(record);
}

void DrmBackend::fail(size_t i, int error, uint64_t timeNs, RecordSink& out) {
  const DrmDevice& device = devices_[i];
  State& state = states_[i];
  // The kernel answers ENODEV for a file of a removed device. A missing directory means the same.
  char path[16] = "";
  state.lost = error == ENODEV || (readlink(device.directory.c_str(), path, sizeof path) < 0 && errno == ENOENT);
  // Code 1: the id is a device, also for sources whose other records have a process as id.
  errors_.note(out, timeNs, device.source, device.report.index, state.lost ? ENODEV : error, 1);
  if (!state.failing) state.failingSinceNs = timeNs;
  state.failing = true;
  state.backoffNs = state.backoffNs == 0 ? kFirstRetryNs : std::min(state.backoffNs * 2, kMaxRetryNs);
  state.retryNs = timeNs + state.backoffNs;
}

void DrmBackend::sample(uint64_t timeNs, RecordSink& out) {
  forgetUsed();
  for (size_t i = 0; i < devices_.size(); ++i) {
    DrmDevice& device = devices_[i];
    State& state = states_[i];
    if (state.lost || !device.canReadUsed() || (state.failing && timeNs < state.retryNs)) continue;
    uint64_t used = 0;
    working(device.report.index);
    const int error = device.readUsed(used);
    if (error != 0) {
      fail(i, error, timeNs, out);
      continue;
    }
    if (state.failing) {
      state.failing = false;
      state.backoffNs = 0;
      event(DeviceEvent::kRecovered, device.report.index, timeNs - state.failingSinceNs, timeNs, out);
    }
    Record record = recordOf(RecordKind::kDevice, device.source, device.report.index, timeNs);
    record.set(0, used);
    if (state.total > 0) {
      record.set(1, state.total);
      if (used <= state.total) record.set(2, state.total - used);
    }
    out.push(record);
    // A partition's memory is its card's too.
    if (device.parent < 0) addUsed(used);
    state.used = used;
    state.usedKnown = true;
    constexpr uint64_t kStep = 32 << 20;
    const uint64_t moved = used > state.usedAtList ? used - state.usedAtList : state.usedAtList - used;
    moved_ |= state.listed && moved >= kStep;
  }
  // Devices without a memory counter are read through their processes, as often as a small share of the time allows.
  if (anyWithoutUsed_ && timeNs >= nextQuickNs_) {
    const uint64_t began = monotonicNs();
    sink_ = &out;
    sinkTimeNs_ = timeNs;
    takePids();
    gather(false);
    emitLists(true, began, timeNs, out);
    nextQuickNs_ = timeNs + kQuickShare * (monotonicNs() - began);
  }
}

void DrmBackend::checkDevices(uint64_t timeNs, RecordSink& out) {
  const int cards = countCards(sysRoot_);
  if (cards != cards_) {
    cards_ = cards;
    event(DeviceEvent::kCountChanged, -1, static_cast<uint64_t>(cards), timeNs, out);
  }
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (states_[i].lost) continue;
    const uint64_t total = devices_[i].readTotal();
    if (total == 0 || total == states_[i].total) continue;
    states_[i].total = total;
    devices_[i].total = total;
    event(DeviceEvent::kCapacityChanged, devices_[i].report.index, total, timeNs, out);
  }
}

std::string drmRoot(const char* variable, const std::string& usual) {
  const char* given = std::getenv(variable);
  return given != nullptr && given[0] == '/' ? given : usual;
}

}  // namespace stormlog
