// Host memory of a process tree from procfs: statm of every process at every tick through open files, status and the
// number of descriptors at 10 Hz.
#include <cerrno>
#include <unistd.h>

#include "../../error_log.h"
#include "../../support/clock.h"
#include "host_source.h"
#include "ignored_programs.h"
#include "own_pids.h"
#include "marker_scan.h"
#include "process_table.h"
#include "procfs.h"
#include "quiet_turns.h"
#include "tree_scan.h"
#include "tree_sums.h"

namespace stormlog {
namespace {

constexpr uint64_t kStatusPeriodNs = 100 * kMillisecond;
// A pass over the tree follows a birth, at most every 10 ms. Passes over many processes come less often, so that they
// use a thousandth of a core, but at least every 50 ms, unless that exceeds a twentieth of the time. Costs are CPU
// time: a pass during which this thread had to wait does not delay the next.
constexpr uint64_t kMinPassNs = 10 * kMillisecond;
constexpr uint64_t kMaxPassNs = 50 * kMillisecond;
constexpr uint64_t kCheapPassFactor = 1000;
constexpr uint64_t kDearPassFactor = 20;
// A full read of every parent on the machine is expensive.
constexpr uint64_t kParentScanNs = 200 * kMillisecond;
// A pass is made this often even without new processes: it can miss processes that change parents during the pass.
constexpr uint64_t kForcedPassNs = 250 * kMillisecond;
constexpr uint64_t kMarkerPeriodNs = 1 * kSecond;
// Where descriptors must be counted one by one, this many times the CPU time of a count passes until the next.
constexpr uint64_t kCountFactor = 1000;

class LinuxHostSource final : public HostSource, private TreeScan::Visitor {
 public:
  explicit LinuxHostSource(const HostOptions& options)
      : proc_(options.procRoot),
        rootPid_(options.rootPid),
        includeRoot_(options.includeRoot),
        scan_(proc_, options.rootPid),
        marker_(proc_, options.marker),
        ignored_(proc_, options.ignore),
        pageSize_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))) {}

  SourceReport probe() override;
  void sample(uint64_t timeNs, RecordSink& out) override;
  void finish(uint64_t timeNs, RecordSink& out) override;
  bool owns(int pid) override {
    const ProcessEntry* entry = table_.find(pid);
    return entry == nullptr ? pid == rootPid_ : !entry->ignored;
  }
  bool ignores(int pid) override { return ignored_.holds(table_.find(pid), pid); }
  int ownPid(int pid) override {
    const ProcessEntry* entry = table_.find(pid);
    return entry != nullptr ? entry->ownPid : pid == rootPid_ ? ownPids_.root() : pid;
  }
  int pidOf(int ownPid) override { return ownPids_.differ() ? table_.pidOf(ownPid) : ownPid; }
  size_t members(int* out, size_t max) override { return table_.living(out, max); }
  uint64_t stillForNs() const override;
  void lookAgain(uint64_t timeNs, RecordSink& out) override {
    nextPassNs_ = 0;
    nextForcedNs_ = 0;
    refreshTree(timeNs, out);
  }

 private:
  void found(int pid, int parent) override;
  void refreshTree(uint64_t timeNs, RecordSink& out);
  // False when the process is gone and its entry must be removed.
  bool readProcess(ProcessEntry& entry, uint8_t& quietReads, uint64_t timeNs, RecordSink& out);
  void readAll(uint64_t timeNs, RecordSink& out);
  void readStatus(ProcessEntry& entry, uint64_t timeNs, RecordSink& out);
  void readDescriptors(ProcessEntry& entry, uint64_t timeNs);
  void writeCounts(uint64_t timeNs, RecordSink& out);
  void markEnded(ProcessEntry& entry, uint64_t timeNs, RecordSink& out);
  bool followLivingThread(ProcessEntry& entry);
  bool borrows(ProcessEntry& entry, const Statm& now);

  const ProcFs proc_;
  const int rootPid_;
  const bool includeRoot_;
  TreeScan scan_;
  MarkerScan marker_;
  const IgnoredPrograms ignored_;
  const uint64_t pageSize_;
  ProcessTable table_;
  ErrorLog errors_;
  uint64_t nextPassNs_ = 0;
  uint64_t nextForcedNs_ = 0;
  uint64_t nextMarkerNs_ = 0;
  uint64_t nextCountsNs_ = 0;
  bool someoneVanished_ = true;
  bool kcmpWorks_ = true;
  OwnPids ownPids_;
  // Set for the duration of a pass, when `found` may be called.
  RecordSink* out_ = nullptr;
  uint64_t timeNs_ = 0;
  TreeSums sums_;
  uint64_t lastSampleNs_ = 0;
  QuietTurns quiet_;
  // Entries that have ended and wait to be reaped.
  uint32_t ended_ = 0;
};

SourceReport LinuxHostSource::probe() {
  SourceReport report;
  report.name = "host";
  char text[4096];
  const ssize_t n = proc_.read(rootPid_, "statm", text, sizeof text);
  Statm statm;
  if (n < 0 || !parseStatm(text, static_cast<size_t>(n), statm)) {
    report.reason = std::string(proc_.root()) + "/" + std::to_string(rootPid_) + "/statm " +
                    (n < 0 ? "cannot be read" : "is not in the known form");
    return report;
  }
  ownPids_.begin(proc_, rootPid_);
  report.available = true;
  report.capabilities.push_back("rss");
  report.capabilities.push_back("anonymous");
  Status status;
  const ssize_t m = proc_.read(rootPid_, "status", text, sizeof text);
  if (m > 0 && parseStatus(text, static_cast<size_t>(m), status)) {
    if (status.valid & kStatusHighWater) report.capabilities.push_back("high-water");
    if (status.valid & kStatusShmem) report.capabilities.push_back("shared-memory");
  }
  report.capabilities.push_back(scan_.usesChildrenFiles() ? "tree:children" : "tree:parents");
  if (proc_.isReal()) {
    kcmpWorks_ = shareMemory(getpid(), getpid()) == SameMemory::kYes;
    report.capabilities.push_back(kcmpWorks_ ? "vfork:kcmp" : "vfork:text");
  } else {
    kcmpWorks_ = false;
  }
  if (marker_.enabled()) report.capabilities.push_back("marker");
  return report;
}

void LinuxHostSource::found(int pid, int parent) {
  if (pid == rootPid_ && !includeRoot_) return;
  if (table_.find(pid) != nullptr) return;
  if (table_.full()) {
    errors_.note(*out_, timeNs_, RecordSource::kTree, -1, EOVERFLOW, ProcessTable::kCapacity);
    return;
  }
  UniqueFd statm = proc_.open(pid, "statm");
  if (!statm) {
    // Already gone is normal. A lack of descriptors or of permission is recorded.
    if (errno != ENOENT && errno != ESRCH) errors_.note(*out_, timeNs_, RecordSource::kStatm, pid, errno, 0);
    return;
  }
  ProcessEntry& entry = table_.add(pid);
  ++membership_;
  entry.statm = static_cast<UniqueFd&&>(statm);
  entry.parent = parent;
  entry.firstSeenNs = timeNs_;
  entry.nextStatusNs = timeNs_;
  entry.ownPid = ownPids_.of(proc_, pid);
  Record record = recordOf(RecordKind::kProcessStart, RecordSource::kTree, entry.ownPid, timeNs_);
  if (entry.ownPid != pid) record.set(2, static_cast<uint64_t>(pid));
  char text[1024];
  const ssize_t n = proc_.read(pid, "stat", text, sizeof text);
  Stat stat;
  if (n > 0 && parseStat(text, static_cast<size_t>(n), stat)) {
    entry.parent = stat.parent;
    record.set(1, stat.startTicks);
  }
  if (entry.parent > 0) record.set(0, static_cast<uint64_t>(ownPid(entry.parent)));
  out_->push(record);
  const ProcessEntry* parentEntry = table_.find(entry.parent);
  entry.ignored = parentEntry != nullptr && parentEntry->ignored;
  // Only parents in the table can lend their memory: the launcher is not in it, and its children have their own copy.
  entry.borrowsMemory = parentEntry != nullptr;
  entry.borrowCheckByText = !kcmpWorks_;
}

void LinuxHostSource::refreshTree(uint64_t timeNs, RecordSink& out) {
  const bool markerDue = marker_.enabled() && timeNs >= nextMarkerNs_;
  if (timeNs < nextPassNs_ && !markerDue) return;
  out_ = &out;
  timeNs_ = timeNs;
  const uint64_t begin = threadCpuNs();
  if (!scan_.nothingBorn() || someoneVanished_ || timeNs >= nextForcedNs_) {
    if (includeRoot_) found(rootPid_, 0);
    scan_.pass(table_, *this);
    someoneVanished_ = false;
    nextForcedNs_ = timeNs + kForcedPassNs;
  }
  if (markerDue) {
    marker_.pass(*this);
    nextMarkerNs_ = timeNs + kMarkerPeriodNs;
  }
  const uint64_t cost = threadCpuNs() - begin;
  uint64_t pause = cost * kCheapPassFactor;
  if (pause > kMaxPassNs) pause = kMaxPassNs;
  if (pause < cost * kDearPassFactor) pause = cost * kDearPassFactor;
  const uint64_t minPause = !scan_.usesChildrenFiles() ? kParentScanNs : kMinPassNs;
  nextPassNs_ = timeNs + (pause > minPause ? pause : minPause);
}

bool LinuxHostSource::followLivingThread(ProcessEntry& entry) {
  // The main thread may end before the others; its own files then show no memory, while theirs still do.
  UniqueFd statm;
  if (!proc_.openLivingThread(entry.pid, statm, entry.status)) return false;
  if (!entry.mainStatm) entry.mainStatm = static_cast<UniqueFd&&>(entry.statm);
  entry.statm = static_cast<UniqueFd&&>(statm);
  return true;
}

bool LinuxHostSource::borrows(ProcessEntry& entry, const Statm& now) {
  ProcessEntry* parent = table_.find(entry.parent);
  if (parent == nullptr || parent->ended) return false;
  if (!entry.borrowCheckByText) {
    const SameMemory same = shareMemory(parent->pid, entry.pid);
    if (same != SameMemory::kUnknown) return same == SameMemory::kYes;
    entry.borrowCheckByText = true;
  }
  // Without kcmp: exactly the three numbers of the parent, soon after the start.
  return timeNs_ - entry.firstSeenNs < kSecond && now == parent->pages;
}

bool LinuxHostSource::readProcess(ProcessEntry& entry, uint8_t& quietReads, uint64_t timeNs, RecordSink& out) {
  char text[128];
  const ssize_t n = preadText(entry.statm.get(), text, sizeof text);
  if (n <= 0) {
    if (n < 0 && errno != ESRCH && errno != ENOENT) errors_.note(out, timeNs, RecordSource::kStatm, entry.ownPid, errno, 0);
    if (!entry.mainStatm) return false;
    entry.statm = static_cast<UniqueFd&&>(entry.mainStatm);
    entry.status.reset();
    return readProcess(entry, quietReads, timeNs, out);
  }
  Statm now;
  if (!parseStatm(text, static_cast<size_t>(n), now)) {
    errors_.note(out, timeNs, RecordSource::kStatm, entry.ownPid, EINVAL, 0);
    return true;
  }
  if (now.sizePages == 0 && now.residentPages == 0) {
    if (!entry.ended && !followLivingThread(entry)) markEnded(entry, timeNs, out);
    // A process that waits to be reaped is as quiet as one that sleeps.
    if (entry.ended && quietReads < QuietTurns::kAfter) ++quietReads;
    return true;
  }
  if (ignored_.holds(entry, now, timeNs)) {
    entry.ignored = true;
    markEnded(entry, timeNs, out);
    quietReads = QuietTurns::kAfter;
    return true;
  }
  if (now == entry.pages) {
    if (quietReads < QuietTurns::kAfter) ++quietReads;
  } else {
    quietReads = 0;
    const bool counted = entry.counted;
    sums_.remove(entry);
    entry.pages = now;
    if (counted) sums_.add(entry);
  }
  if (entry.borrowsMemory) {
    entry.borrowsMemory = borrows(entry, now);
    quietReads = 0;
    // It may have left the parent's memory since the reading, which is then the parent's still.
    return entry.borrowsMemory || readProcess(entry, quietReads, timeNs, out);
  }
  if (timeNs >= entry.nextStatusNs) readStatus(entry, timeNs, out);
  sums_.add(entry);
  return true;
}

void LinuxHostSource::readStatus(ProcessEntry& entry, uint64_t timeNs, RecordSink& out) {
  entry.nextStatusNs = timeNs + kStatusPeriodNs;
  if (proc_.ranSince(entry.pid, entry.statusCpuNs) || entry.statusValues.valid == 0) {
    if (!entry.status) entry.status = proc_.open(entry.pid, "status");
    char text[4096];
    const ssize_t n = entry.status ? preadText(entry.status.get(), text, sizeof text) : -1;
    if (n < 0) {
      if (errno != ESRCH && errno != ENOENT) errors_.note(out, timeNs, RecordSource::kStatus, entry.ownPid, errno, 0);
      return;
    }
    Status status;
    if (!parseStatus(text, static_cast<size_t>(n), status)) return;
    sums_.remove(entry);
    entry.statusValues = status;
    readDescriptors(entry, timeNs);
  }
  Record record = recordOf(RecordKind::kProcess, RecordSource::kStatus, entry.ownPid, timeNs);
  record.valid = entry.statusValues.valid & kStatusMemory;
  record.v[0] = entry.statusValues.highWater;
  record.v[1] = entry.statusValues.anon;
  record.v[2] = entry.statusValues.shmem;
  record.v[3] = entry.statusValues.file;
  out.push(record);
}

// Of an entry that is not part of the sums.
void LinuxHostSource::readDescriptors(ProcessEntry& entry, uint64_t timeNs) {
  if (timeNs < entry.nextDescriptorsNs) return;
  const uint64_t begin = threadCpuNs();
  bool counted = false;
  entry.descriptorsKnown = proc_.descriptors(entry.pid, entry.descriptors, counted);
  if (!entry.descriptorsKnown) entry.descriptors = 0;
  if (counted) entry.nextDescriptorsNs = timeNs + kCountFactor * (threadCpuNs() - begin);
}

void LinuxHostSource::writeCounts(uint64_t timeNs, RecordSink& out) {
  if (timeNs < nextCountsNs_ || totals_.processes == 0) return;
  nextCountsNs_ = timeNs + kStatusPeriodNs;
  Record record = recordOf(RecordKind::kCounts, RecordSource::kStatus, -1, timeNs);
  if (sums_.descriptorsUnknown == 0) record.set(0, sums_.descriptors);
  if (sums_.threadsUnknown == 0) record.set(1, sums_.threads);
  out.push(record);
}

void LinuxHostSource::markEnded(ProcessEntry& entry, uint64_t timeNs, RecordSink& out) {
  if (entry.ended) return;
  entry.ended = true;
  ++ended_;
  ++membership_;
  sums_.remove(entry);
  someoneVanished_ = true;
  Record record = recordOf(RecordKind::kProcessExit, RecordSource::kTree, entry.ownPid, timeNs);
  if (entry.statusValues.valid & kStatusHighWater) record.set(0, entry.statusValues.highWater);
  // It lives, and is measured no more.
  if (entry.ignored) record.set(1, 1);
  out.push(record);
}

void LinuxHostSource::readAll(uint64_t timeNs, RecordSink& out) {
  const uint64_t elapsed = timeNs - lastSampleNs_;
  lastSampleNs_ = timeNs;
  quiet_.begin(elapsed);
  for (size_t i = 0; i < table_.size();) {
    uint8_t& quiet = table_.quietReads(i);
    if (quiet >= QuietTurns::kAfter) {
      ProcessEntry& entry = table_[i];
      if (!quiet_.visits() || (!quiet_.few() && timeNs < entry.nextStatusNs && !proc_.ranSince(entry.pid, entry.readCpuNs))) {
        ++i;
        continue;
      }
    }
    if (readProcess(table_[i], quiet, timeNs, out)) {
      if (quiet < QuietTurns::kAfter) quiet_.moved();
      ++i;
      continue;
    }
    markEnded(table_[i], timeNs, out);
    --ended_;
    table_.removeAt(i);
    // At once, because the next process of this very tick may look its parent up.
    table_.rehash();
    someoneVanished_ = true;
  }
}

uint64_t LinuxHostSource::stillForNs() const {
  const uint64_t pass = nextPassNs_ > lastSampleNs_ ? nextPassNs_ - lastSampleNs_ : 0;
  const uint64_t check = quiet_.stillForNs();
  return check < pass ? check : pass;
}

void LinuxHostSource::sample(uint64_t timeNs, RecordSink& out) {
  refreshTree(timeNs, out);
  timeNs_ = timeNs;
  readAll(timeNs, out);
  totals_.rssBytes = sums_.rssPages * pageSize_;
  totals_.hostKnown = sums_.shmemUnknown == 0;
  totals_.hostBytes = sums_.anonPages * pageSize_ + sums_.shmemBytes;
  totals_.processes = static_cast<uint32_t>(table_.size()) - ended_;
  Record record = recordOf(RecordKind::kTree, RecordSource::kStatm, -1, timeNs);
  record.set(0, totals_.rssBytes);
  record.set(1, sums_.anonPages * pageSize_);
  if (totals_.hostKnown) record.set(2, sums_.shmemBytes);
  const uint64_t late = latenessNs_ / kMicrosecond;
  record.set(3, totals_.processes | (late < UINT32_MAX ? late : UINT32_MAX) << 32);
  out.push(record);
  writeCounts(timeNs, out);
}

void LinuxHostSource::finish(uint64_t timeNs, RecordSink& out) {
  nextPassNs_ = 0;
  nextCountsNs_ = 0;
  someoneVanished_ = true;
  for (size_t i = 0; i < table_.size(); ++i) {
    table_[i].nextStatusNs = 0;
    table_[i].statusCpuNs = 0;
    table_[i].nextDescriptorsNs = 0;
    table_.quietReads(i) = 0;
  }
  sample(timeNs, out);
}

}  // namespace

std::unique_ptr<HostSource> HostSource::create(const HostOptions& options) {
  return std::unique_ptr<HostSource>(new LinuxHostSource(options));
}

}  // namespace stormlog
