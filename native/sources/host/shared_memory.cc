#include "shared_memory.h"

#include <unistd.h>

#include <cerrno>

#include "../../support/clock.h"
#include "../../support/errno_name.h"

namespace stormlog {

SourceReport SharedMemory::probe() {
  SourceReport report;
  report.name = "host_shared_once";
  char text[4096];
  const ssize_t n = proc_.read(proc_.isReal() ? getpid() : rootPid_, "smaps_rollup", text, sizeof text);
  Rollup rollup;
  if (n < 0) {
    report.reason = std::string("smaps_rollup cannot be read (") + errnoName(errno) + ")";
  } else if (!parseRollup(text, static_cast<size_t>(n), rollup)) {
    report.reason = "smaps_rollup does not list anonymous and shared memory, which Linux 5.3 and later do";
  } else {
    report.available = true;
    report.capabilities.push_back("proportional");
  }
  return report;
}

bool SharedMemory::wantsProcesses() const {
  const uint64_t now = pids_->memoryBytes();
  return (now > readAtBytes_ ? now - readAtBytes_ : readAtBytes_ - now) >= kMovedBytes;
}

// A child between vfork and exec has its parent's memory, which is counted there.
bool SharedMemory::borrows(int pid) const {
  char text[1024];
  Stat stat;
  const ssize_t n = proc_.isReal() ? proc_.read(pid, "stat", text, sizeof text) : -1;
  return n > 0 && parseStat(text, static_cast<size_t>(n), stat) && shareMemory(pid, stat.parent) == SameMemory::kYes;
}

void SharedMemory::sampleProcesses(uint64_t timeNs, RecordSink& out) {
  readAtBytes_ = pids_->memoryBytes();
  const uint64_t beganNs = monotonicNs();
  const size_t count = pids_->copy(members_.get(), JobPids::kCapacity);
  uint64_t bytes = 0;
  uint64_t mapped = 0;
  uint64_t read = 0;
  uint64_t unread = 0;
  for (size_t i = 0; i < count; ++i) {
    char text[4096];
    const ssize_t n = proc_.read(members_[i], "smaps_rollup", text, sizeof text);
    Rollup rollup;
    if (n > 0 && parseRollup(text, static_cast<size_t>(n), rollup)) {
      if (borrows(members_[i])) continue;
      bytes += rollup.anon + rollup.shmem + rollup.swap + rollup.huge;
      mapped += rollup.shmem;
      ++read;
    } else if (n < 0 && (errno == ENOENT || errno == ESRCH)) {
      // It ended and holds no memory.
    } else {
      ++unread;
    }
  }
  if (read == 0 && unread == 0) return;
  Record record;
  record.timeNs = timeNs;
  record.kind = RecordKind::kHostShared;
  record.source = RecordSource::kRollup;
  record.id = static_cast<int32_t>((monotonicNs() - beganNs) / kMicrosecond);
  // A sum without some of the processes is not the job's memory.
  if (unread == 0) {
    record.set(0, bytes);
    record.set(1, mapped);
  }
  record.set(3, read | unread << 32);
  out.push(record);
}

}  // namespace stormlog
