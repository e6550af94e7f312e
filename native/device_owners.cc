#include "device_owners.h"

#include <signal.h>

#include <cerrno>

#include "sources/device_backend.h"

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

void DeviceOwners::tell(Record& record, uint64_t timeNs, RecordSink& out) {
  // A backend that knows better has said so.
  if (record.valid & 4) return;
  if (record.v[2] == kOwnerUntold || record.id <= 0) {
    record.v[2] = 0;
    return;
  }
  if (owned(record.id, timeNs)) {
    record.set(2, 1);
    return;
  }
  const uint64_t* knownNs = strangers_.find(record.id);
  if (knownNs == nullptr || timeNs - *knownNs > kRememberNs) {
    // Perhaps a child that the tree does not know yet.
    if (lookedNs_ != timeNs) host_.lookAgain(timeNs, out);
    lookedNs_ = timeNs;
    if (owned(record.id, timeNs)) {
      record.set(2, 1);
      return;
    }
    if (strangers_.full()) strangers_.removeIf([](uint64_t) { return true; });
    strangers_.set(record.id, timeNs);
  }
  // A number that no process here has belongs to another pid namespace, or to a process that is gone: whose it was is not known.
  if (kill(record.id, 0) == 0 || errno == EPERM) record.set(2, 0);
}

}  // namespace stormlog
