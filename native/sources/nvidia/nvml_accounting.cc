#include "nvml_accounting.h"

namespace stormlog {

const char* NvmlAccounting::probe(const NvmlState& device) {
  if (api_->accountingMode == nullptr || api_->accountingStats == nullptr) return "";
  int enabled = 0;
  const int code = api_->accountingMode(device.handle, &enabled);
  if (code == kNvmlNoPermission) return "accounting:denied";
  if (code != kNvmlSuccess) return "";
  if (enabled != 1) return "accounting:off";
  on_.push_back(device.index);
  pids_.resize(kMaxPids);
  now_.reserve(JobPids::kCapacity);
  copy_.reserve(JobPids::kCapacity);
  unsigned count = kMaxPids;
  if (api_->accountingPids != nullptr && api_->accountingPids(device.handle, &count, pids_.data()) == kNvmlSuccess) {
    for (unsigned i = 0; i < count && i < kMaxPids; ++i) before_.push_back(Followed{device.index, static_cast<int>(pids_[i]), 0, false});
  }
  return "accounting";
}

void NvmlAccounting::follow(const JobPids* pids) {
  if (on_.empty() || pids == nullptr) return;
  const uint64_t version = pids->version();
  if (version == version_) return;
  std::vector<int>& before = copy_;
  before.swap(now_);
  now_.resize(JobPids::kCapacity);
  const size_t count = pids->copy(now_.data(), now_.size());
  now_.resize(count);
  // Nothing was copied because the publisher interfered. The next call tries again.
  if (count == 0 && pids->version() != version) {
    before.swap(now_);
    return;
  }
  version_ = version;
  for (const int pid : before) job_.set(pid, kEnded);
  if (job_.size() + count > kMaxPids) job_.removeIf([](uint64_t state) { return state == kEnded; });
  for (const int pid : now_) job_.set(pid, kAlive);
}

NvmlAccounting::Followed* NvmlAccounting::find(int device, int pid) {
  for (Followed& followed : followed_) {
    if (followed.device == device && followed.pid == pid) return &followed;
  }
  return nullptr;
}

void NvmlAccounting::seen(const NvmlState& device, uint32_t pid) {
  bool on = false;
  for (const int index : on_) on |= index == device.index;
  if (!on || job_.find(static_cast<int>(pid)) == nullptr || followed_.size() == kMaxFollowed) return;
  if (find(device.index, static_cast<int>(pid)) == nullptr) followed_.push_back(Followed{device.index, static_cast<int>(pid), 0, false});
}

void NvmlAccounting::addShortLived(const NvmlState& device) {
  if (api_->accountingPids == nullptr) return;
  unsigned count = kMaxPids;
  if (api_->accountingPids(device.handle, &count, pids_.data()) != kNvmlSuccess) return;
  for (unsigned i = 0; i < count && i < kMaxPids; ++i) {
    bool old = false;
    // An older entry under a pid of the job belongs to an earlier process with that pid.
    for (const Followed& each : before_) old |= each.device == device.index && each.pid == static_cast<int>(pids_[i]);
    if (!old) seen(device, pids_[i]);
  }
}

void NvmlAccounting::readOne(const NvmlState& device, Followed& followed, uint64_t timeNs, bool last,
                             RecordSink& out) {
  NvmlAccountingStats stats{};
  if (api_->accountingStats(device.handle, static_cast<unsigned>(followed.pid), &stats) != kNvmlSuccess) return;
  const uint64_t* state = job_.find(followed.pid);
  // At the end no process of the job is left, whether or not the end of its last process was seen.
  const bool ended = stats.isRunning == 0 && (last || state == nullptr || *state == kEnded);
  // A driver that accounts under the pids of another namespace answers 0: unknown, not nothing.
  const bool known = stats.maxMemoryUsage != 0 && stats.maxMemoryUsage != kNvmlNotAvailable;
  followed.done = ended;
  if (!known || (stats.maxMemoryUsage == followed.peak && !ended)) return;
  followed.peak = stats.maxMemoryUsage;
  Record record = deviceProcess(RecordKind::kDeviceProcessPeak, RecordSource::kNvml, followed.pid, device.index, timeNs);
  record.set(0, stats.maxMemoryUsage);
  record.set(2, ended ? 1 : 0);
  out.push(record);
}

void NvmlAccounting::read(const std::vector<NvmlState>& devices, uint64_t timeNs, bool last, RecordSink& out) {
  for (const int index : on_) {
    for (const NvmlState& device : devices) {
      if (device.index != index || device.lost) continue;
      if (last) addShortLived(device);
      for (Followed& followed : followed_) {
        if (followed.device == index && !followed.done) readOne(device, followed, timeNs, last, out);
      }
    }
  }
}

}  // namespace stormlog
