// Memory of AMD's and Intel's cards by process.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../../support/clock.h"
#include "drm_backend.h"

namespace stormlog {
namespace {

// v3 of a device process: the compute driver knows it, or it only has the graphics device open.
constexpr uint64_t kCompute = 1;
constexpr uint64_t kGraphics = 2;

}  // namespace

void DrmBackend::takePids() {
  if (pids_ == nullptr) return;
  const uint64_t version = pids_->version();
  if (version == pidsVersion_) return;
  const size_t count = pids_->copy(scratchPids_.get(), JobPids::kCapacity);
  // The publisher interfered with every attempt: the previous pids are better than none.
  if (count == 0 && pids_->version() != version) return;
  jobPids_.swap(scratchPids_);
  jobPidCount_ = count;
  std::sort(jobPids_.get(), jobPids_.get() + jobPidCount_);
  pidsVersion_ = version;
}

bool DrmBackend::isJobs(int pid) const { return std::binary_search(jobPids_.get(), jobPids_.get() + jobPidCount_, pid); }

bool DrmBackend::wantsProcesses() const { return moved_ || (pids_ != nullptr && pids_->version() != pidsVersion_); }

int DrmBackend::deviceOf(const char* pci, int minor) const {
  int byMinor = -1;
  int byAddress = -1;
  for (size_t i = 0; i < devices_.size(); ++i) {
    const DrmDevice& device = devices_[i];
    if (minor >= 0 && (device.renderMinor == minor || device.cardNumber == minor) && (byMinor < 0 || device.parent >= 0)) {
      byMinor = static_cast<int>(i);
    }
    if (device.parent < 0 && pci[0] != '\0' && device.report.pciBusId == pci) byAddress = static_cast<int>(i);
  }
  // The address comes from the kernel, but a container may have renamed a node. Only partitions, which share an
  // address, need the name.
  if (byAddress < 0) return pci[0] == '\0' ? byMinor : -1;
  if (!devices_[byAddress].hasPartitions || byMinor < 0) return byAddress;
  return devices_[byMinor].parent == byAddress ? byMinor : byAddress;
}

void DrmBackend::client(int pid, int minor, const FdInfo& info) {
  const int place = deviceOf(info.pci, minor);
  if (place < 0) return;
  DrmUsage* entry = usage_->at(place, pid);
  if (entry == nullptr) return;
  uint64_t card = 0;
  uint64_t host = 0;
  const bool hasCard = info.card.bytes(card);
  const bool hasHost = info.host.bytes(host);
  const bool unified = devices_[place].report.unified;
  if (!hasCard && !(unified && hasHost)) return;
  entry->openKnown = true;
  const uint64_t bytes = unified ? card + host : card;
  if (!info.hasClient) {
    // Without client numbers, two clients cannot be distinguished from one that is read twice. The larger value is
    // certain.
    entry->open = std::max(entry->open, bytes);
  } else if (clients_->add(place, info.client)) {
    entry->open += bytes;
  }
}

void DrmBackend::refused(int pid, int error) {
  errors_.note(*sink_, sinkTimeNs_, RecordSource::kFdinfo, pid, error, 0);
  // It may hold memory of any card whose processes the compute driver does not count.
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (kfd_.counts(static_cast<int>(i)) || devices_[i].hasPartitions) continue;
    DrmUsage* entry = usage_->at(static_cast<int>(i), pid);
    if (entry != nullptr) entry->partial = true;
  }
}

void DrmBackend::gather(bool look) {
  usage_->clear();
  clients_->clear();
  if (!look) {
    fdinfo_->readAgain(jobPids_.get(), jobPidCount_, *this);
    return;
  }
  fdinfo_->find(jobPids_.get(), jobPidCount_, *this);
  if (!kfd_.available()) return;
  if (foreignPids_) {
    // The compute driver would list the same processes again, with host pids.
    memset(leaveOut_.get(), 0, devices_.size() * sizeof leaveOut_[0]);
    for (const DrmUsage& entry : *usage_) leaveOut_[entry.device] |= entry.openKnown;
  }
  if (!kfd_.read(*usage_, foreignPids_ ? leaveOut_.get() : nullptr)) errors_.note(*sink_, sinkTimeNs_, RecordSource::kKfd, -1, errno, 0);
}

// Returns 1 when its memory is unknown, else 0.
size_t DrmBackend::emitEntry(const DrmUsage& entry, uint64_t timeNs, RecordSink& out) const {
  const DrmDevice& device = devices_[entry.device];
  const bool theirNumber = foreignPids_ && entry.computeKnown && !entry.openKnown;
  const RecordSource source = entry.computeDecides() ? RecordSource::kKfd : RecordSource::kFdinfo;
  Record record = deviceProcess(RecordKind::kDeviceProcess, source, entry.pid, device.report.index, timeNs);
  if (entry.known()) record.set(0, entry.bytes());
  // For pids that are not the job's, the host thread determines the owner.
  if (theirNumber) record.v[2] = kOwnerUnknown;
  else if (isJobs(entry.pid)) record.set(2, 1);
  if (entry.computeKnown) record.set(3, kCompute);
  else if (kfd_.counts(entry.device)) record.set(3, kGraphics);
  out.push(record);
  return entry.known() ? 0 : 1;
}

void DrmBackend::emitLists(bool onlyWithoutUsed, uint64_t beganNs, uint64_t timeNs, RecordSink& out) {
  const uint64_t took = monotonicNs() - beganNs;
  for (size_t i = 0; i < devices_.size(); ++i) {
    const DrmDevice& device = devices_[i];
    const int place = static_cast<int>(i);
    if (states_[i].lost || (onlyWithoutUsed && (device.canReadUsed() || kfd_.counts(place)))) continue;
    // Before the job has processes, only AMD's compute driver can list any. The other devices are reported as readable
    // (0 entries), not as failed.
    if (jobPidCount_ == 0 && !kfd_.counts(place)) {
      if (!device.hasPartitions) reports_[i].listEntries = std::max(reports_[i].listEntries, 0);
      continue;
    }
    size_t entries = 0;
    size_t unknown = 0;
    for (const DrmUsage& entry : *usage_) {
      if (entry.device != place) continue;
      ++entries;
      unknown += emitEntry(entry, timeNs, out);
    }
    // A card with partitions has processes of its own only if one opened the card itself.
    if (device.hasPartitions && entries == 0) continue;
    const RecordSource source = kfd_.counts(place) ? RecordSource::kKfd : RecordSource::kFdinfo;
    Record record = recordOf(RecordKind::kDeviceList, source, device.report.index, timeNs);
    record.set(0, entries);
    record.set(1, took);
    record.set(2, unknown);
    out.push(record);
    if (reports_[i].listEntries >= 0) continue;
    reports_[i].listEntries = static_cast<int>(entries);
    reports_[i].listUnknown = static_cast<int>(unknown);
  }
}

void DrmBackend::sampleProcesses(uint64_t timeNs, RecordSink& out) {
  if (devices_.empty()) return;
  // A read that hangs here may be of any card.
  working(-1);
  const uint64_t began = monotonicNs();
  sink_ = &out;
  sinkTimeNs_ = timeNs;
  takePids();
  gather(true);
  if (usage_->full()) errors_.note(out, timeNs, RecordSource::kFdinfo, -1, EOVERFLOW, DrmUsageTable::kCapacity);
  emitLists(false, began, timeNs, out);
  checkDevices(timeNs, out);
  for (State& state : states_) {
    state.usedAtList = state.used;
    state.listed = state.usedKnown;
  }
  moved_ = false;
}

}  // namespace stormlog
