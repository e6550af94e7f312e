#include "device_owners.h"

#include <signal.h>

#include <cerrno>

#include "../sources/device_backend.h"

namespace stormlog {

void DeviceOwners::update(const int* pids, size_t count, uint64_t timeNs) {
  if (members_.size() > kCapacity / 2) {
    members_.removeIf([&](uint64_t ended) { return ended != kLiving && timeNs - ended > kRememberNs; });
  }
  for (const int pid : last_) {
    uint64_t* ended = members_.find(pid);
    if (ended != nullptr && *ended == kLiving) *ended = timeNs;
  }
  last_.assign(pids, pids + count);
  for (const int pid : last_) members_.set(pid, kLiving);
}

bool DeviceOwners::owned(int pid, uint64_t timeNs) {
  if (host_.owns(pid)) return true;
  const uint64_t* ended = members_.find(pid);
  return ended != nullptr && (*ended == kLiving || timeNs - *ended <= kRememberNs);
}

void DeviceOwners::assign(Record& record, uint64_t timeNs, RecordSink& out) {
  // The backend has determined the owner already.
  if (record.valid & 4) return;
  if (record.v[2] == kOwnerUnknown || record.id <= 0) {
    record.v[2] = 0;
    return;
  }
  if (owned(record.id, timeNs)) {
    record.set(2, 1);
    return;
  }
  const uint64_t* knownNs = others_.find(record.id);
  if (knownNs == nullptr || timeNs - *knownNs > kRememberNs) {
    // Possibly a child that is not in the tree yet.
    if (lookedNs_ != timeNs) host_.lookAgain(timeNs, out);
    lookedNs_ = timeNs;
    if (owned(record.id, timeNs)) {
      record.set(2, 1);
      return;
    }
    if (others_.full()) others_.removeIf([](uint64_t) { return true; });
    others_.set(record.id, timeNs);
  }
  // A pid without a process here is of another pid namespace, or of an ended process: its owner is unknown.
  if (kill(record.id, 0) == 0 || errno == EPERM) record.set(2, 0);
}

}  // namespace stormlog
