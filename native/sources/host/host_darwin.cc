// Host memory of a process tree on macOS, from libproc. Written to the interface of host_source.h and built by the
// release workflow on an arm64 runner; it was not run where the rest of this project is developed and tested.
#include <libproc.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "../../error_log.h"
#include "../../support/clock.h"
#include "host_source.h"

namespace stormlog {
namespace {

constexpr size_t kMaxProcesses = 4096;
constexpr uint64_t kTreePeriodNs = 25 * kMillisecond;
constexpr uint64_t kHighWaterPeriodNs = 100 * kMillisecond;

struct Entry {
  pid_t pid = 0;
  // Distinguishes a reused pid from the process known under it.
  uint64_t startTime = 0;
  uint64_t highWater = 0;
  uint64_t nextHighWaterNs = 0;
};

class DarwinHostSource final : public HostSource {
 public:
  explicit DarwinHostSource(const HostOptions& options)
      : rootPid_(options.rootPid), includeRoot_(options.includeRoot), entries_(new Entry[kMaxProcesses]) {}

  SourceReport probe() override {
    SourceReport report;
    report.name = "host";
    rusage_info_v4 usage{};
    if (!read(rootPid_, usage)) {
      report.reason = "proc_pid_rusage is refused for process " + std::to_string(rootPid_);
      return report;
    }
    report.available = true;
    report.capabilities = {"rss", "footprint", "high-water", "tree:children"};
    return report;
  }

  bool owns(int pid) override { return pid == rootPid_ || indexOf(pid) < size_; }

  size_t members(int* out, size_t max) override {
    const size_t count = size_ < max ? size_ : max;
    for (size_t i = 0; i < count; ++i) out[i] = entries_[i].pid;
    return count;
  }

  void lookAgain(uint64_t timeNs, RecordSink& out) override { refresh(timeNs, out); }

  void sample(uint64_t timeNs, RecordSink& out) override {
    if (timeNs >= nextTreeNs_ || someoneVanished_) {
      refresh(timeNs, out);
      nextTreeNs_ = timeNs + kTreePeriodNs;
      someoneVanished_ = false;
    }
    uint64_t rss = 0;
    uint64_t footprint = 0;
    for (size_t i = 0; i < size_;) {
      Entry& entry = entries_[i];
      rusage_info_v4 usage{};
      if (!read(entry.pid, usage) || usage.ri_proc_start_abstime != entry.startTime) {
        leave(i, timeNs, out);
        continue;
      }
      rss += usage.ri_resident_size;
      footprint += usage.ri_phys_footprint;
      entry.highWater = usage.ri_lifetime_max_phys_footprint;
      if (timeNs >= entry.nextHighWaterNs) {
        entry.nextHighWaterNs = timeNs + kHighWaterPeriodNs;
        Record record;
        record.timeNs = timeNs;
        record.kind = RecordKind::kProcess;
        record.source = RecordSource::kStatus;
        record.id = entry.pid;
        // The kernel keeps the exact lifetime peak; it does not split pages as Linux does.
        record.set(0, usage.ri_lifetime_max_phys_footprint);
        record.set(1, usage.ri_phys_footprint);
        out.push(record);
      }
      ++i;
    }
    totals_.rssBytes = rss;
    totals_.hostBytes = footprint;
    totals_.hostKnown = true;
    totals_.processes = static_cast<uint32_t>(size_);
    Record record;
    record.timeNs = timeNs;
    record.kind = RecordKind::kTree;
    record.source = RecordSource::kStatm;
    record.set(0, rss);
    record.set(1, footprint);
    // The footprint holds shared anonymous memory already.
    record.set(2, 0);
    const uint64_t late = latenessNs_ / kMicrosecond;
    record.set(3, size_ | (late < UINT32_MAX ? late : UINT32_MAX) << 32);
    out.push(record);
  }

  void finish(uint64_t timeNs, RecordSink& out) override {
    someoneVanished_ = true;
    for (size_t i = 0; i < size_; ++i) entries_[i].nextHighWaterNs = 0;
    sample(timeNs, out);
  }

 private:
  static bool read(pid_t pid, rusage_info_v4& usage) {
    return proc_pid_rusage(pid, RUSAGE_INFO_V4, reinterpret_cast<rusage_info_t*>(&usage)) == 0;
  }

  size_t indexOf(pid_t pid) const {
    for (size_t i = 0; i < size_; ++i) {
      if (entries_[i].pid == pid) return i;
    }
    return size_;
  }

  void enter(pid_t pid, pid_t parent, uint64_t timeNs, RecordSink& out) {
    if (pid <= 0 || (pid == rootPid_ && !includeRoot_) || indexOf(pid) < size_) return;
    if (size_ == kMaxProcesses) {
      errors_.note(out, timeNs, RecordSource::kTree, -1, EOVERFLOW, kMaxProcesses);
      return;
    }
    rusage_info_v4 usage{};
    if (!read(pid, usage)) {
      if (errno != ESRCH) errors_.note(out, timeNs, RecordSource::kStatm, pid, errno, 0);
      return;
    }
    entries_[size_] = Entry{pid, usage.ri_proc_start_abstime, usage.ri_lifetime_max_phys_footprint, 0};
    ++size_;
    ++membership_;
    Record record;
    record.timeNs = timeNs;
    record.kind = RecordKind::kProcessStart;
    record.source = RecordSource::kTree;
    record.id = pid;
    if (parent > 0) record.set(0, static_cast<uint64_t>(parent));
    record.set(1, usage.ri_proc_start_abstime);
    out.push(record);
  }

  void leave(size_t index, uint64_t timeNs, RecordSink& out) {
    Record record;
    record.timeNs = timeNs;
    record.kind = RecordKind::kProcessExit;
    record.source = RecordSource::kTree;
    record.id = entries_[index].pid;
    record.set(0, entries_[index].highWater);
    out.push(record);
    entries_[index] = entries_[--size_];
    ++membership_;
    someoneVanished_ = true;
  }

  void refresh(uint64_t timeNs, RecordSink& out) {
    if (includeRoot_) enter(rootPid_, 0, timeNs, out);
    children(rootPid_, timeNs, out);
    // New entries are appended while this runs, so grandchildren are reached in the same pass.
    for (size_t i = 0; i < size_; ++i) {
      if (entries_[i].pid != rootPid_) children(entries_[i].pid, timeNs, out);
    }
  }

  void children(pid_t parent, uint64_t timeNs, RecordSink& out) {
    const int count = proc_listchildpids(parent, pids_, sizeof pids_);
    for (int i = 0; i < count && static_cast<size_t>(i) < kMaxProcesses; ++i) enter(pids_[i], parent, timeNs, out);
  }

  const pid_t rootPid_;
  const bool includeRoot_;
  std::unique_ptr<Entry[]> entries_;
  size_t size_ = 0;
  pid_t pids_[kMaxProcesses];
  ErrorLog errors_;
  uint64_t nextTreeNs_ = 0;
  bool someoneVanished_ = true;
};

}  // namespace

std::unique_ptr<HostSource> HostSource::create(const HostOptions& options) {
  return std::unique_ptr<HostSource>(new DarwinHostSource(options));
}

}  // namespace stormlog
