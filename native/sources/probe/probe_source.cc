#include "probe_source.h"

#include <signal.h>

#include <cerrno>

namespace stormlog {
namespace {

constexpr uint64_t kDrainPeriodNs = 40 * kMillisecond;
// The writer of the step file truncates it first: one reading in many finds it empty, so it is read often.
constexpr uint64_t kStepPeriodNs = 10 * kMillisecond;
constexpr uint64_t kLookPeriodNs = 100 * kMillisecond;
constexpr size_t kMaxEntries = 65536;
// A ring holds 4096 records, which a loop of 100,000 steps a second fills between two drains. No real loop writes more
// than this.
constexpr uint64_t kBudget = 16384;
constexpr uint64_t kBudgetPerFile = 8192;
constexpr uint64_t kLastBudget = 1 << 20;
// The final drain is repeated, because no later one would read what it found half-written.
constexpr int kLastLooks = 3;
// A process that wrote nothing for this long is looked for; one that is gone will not write again.
constexpr uint64_t kQuietNs = 2 * kSecond;
// Two readings of one clock by two processes may differ by a little.
constexpr uint64_t kAheadNs = 1 * kSecond;
constexpr char kStepFile[] = "step";
constexpr unsigned kPeakValues[] = {kProbeAllocatedPeak, kProbeReservedPeak, kProbeRetries, kProbeOoms};

bool known(const ProbeRecord& record, unsigned value) { return (record.valid >> value & 1) != 0; }

// `pid` -1: by the step file.
void pushStep(RecordSink& out, uint64_t timeNs, int32_t pid, uint64_t step) {
  Record record = recordOf(RecordKind::kStep, RecordSource::kProbe, pid, timeNs);
  record.set(0, step);
  out.push(record);
}

}  // namespace

// One device of one process.
struct Stream {
  int32_t id;
  uint16_t deviceKind;
  uint16_t deviceIndex;
  uint64_t identity;
  uint64_t peaks[4];
  uint8_t peaksKnown;
};

struct ProbeSource::File {
  // The host heap and up to 32 devices of one process.
  static constexpr size_t kStreams = 33;

  ProbeFile ring;
  int pid = 0;
  uint64_t step = 0;
  bool stepKnown = false;
  // Lost records reported so far.
  uint64_t reportedLost = 0;
  uint64_t nextCheckNs = 0;
  Stream streams[kStreams];
  size_t streamCount = 0;
};

// Turns the records of one file into the sampler's.
class ProbeSource::Delivery final : public ProbeFile::Visitor {
 public:
  Delivery(ProbeSource& source, File& file, uint64_t timeNs, RecordSink& out) : source_(source), file_(file), timeNs_(timeNs), out_(out) {}

  void record(const ProbeRecord& record) override {
    const uint64_t latest = source_.startNs_ + timeNs_ + kAheadNs;
    if (record.timeNs < source_.startNs_ || record.timeNs > latest || record.deviceKind > kProbeJax) {
      source_.errors_.note(out_, timeNs_, RecordSource::kProbe, file_.pid, 0, kProbeRecordImpossible);
      return;
    }
    const uint64_t timeNs = record.timeNs - source_.startNs_;
    const bool step = known(record, kProbeStepNumber);
    if (step) {
      file_.step = record.v[kProbeStepNumber];
      file_.stepKnown = true;
    }
    constexpr uint16_t kLevels = 1 << kProbeAllocated | 1 << kProbeReserved | 1 << kProbeActive;
    if (record.deviceKind == kProbeNoDevice || (record.valid & kLevels) == 0) {
      if (step) pushStep(out_, timeNs, file_.pid, file_.step);
      return;
    }
    Stream* stream = streamOf(record, timeNs);
    if (stream == nullptr) return;
    reportPeaks(*stream, record, timeNs);
    Record made = recordOf(RecordKind::kAllocator, RecordSource::kProbe, stream->id, timeNs);
    if (known(record, kProbeAllocated)) made.set(0, record.v[kProbeAllocated]);
    if (known(record, kProbeReserved)) made.set(1, record.v[kProbeReserved]);
    if (known(record, kProbeActive)) made.set(2, record.v[kProbeActive]);
    if (step) made.set(3, file_.step);
    made.setReason(record.reason <= kProbeExplicit ? record.reason : 0);
    out_.push(made);
  }

 private:
  // Rank, world size, role and flags in one number. A change is reported.
  uint64_t identity() const {
    const ProbeHeader& header = file_.ring.header();
    const auto oneMore = [](int32_t value) { return value >= 0 && value < 0xffff ? static_cast<uint64_t>(value) + 1 : 0; };
    const uint64_t role = header.role >= 0 && header.role <= 3 ? static_cast<uint64_t>(header.role) : 0;
    return oneMore(header.rank) | oneMore(header.worldSize) << 16 | role << 32 | static_cast<uint64_t>(header.flags & 0xff) << 40;
  }

  Stream* streamOf(const ProbeRecord& record, uint64_t timeNs) {
    size_t i = 0;
    while (i < file_.streamCount &&
           (file_.streams[i].deviceKind != record.deviceKind || file_.streams[i].deviceIndex != record.deviceIndex)) {
      ++i;
    }
    if (i == File::kStreams) {
      source_.errors_.note(out_, timeNs_, RecordSource::kProbe, file_.pid, 0, kProbeTooManyDevices);
      return nullptr;
    }
    Stream& stream = file_.streams[i];
    const uint64_t now = identity();
    const bool fresh = i == file_.streamCount;
    if (fresh) {
      ++file_.streamCount;
      stream = Stream{source_.nextStream_++, record.deviceKind, record.deviceIndex, 0, {0, 0, 0, 0}, 0};
    }
    if (fresh || stream.identity != now) {
      stream.identity = now;
      Record made = recordOf(RecordKind::kStream, RecordSource::kProbe, stream.id, timeNs);
      made.set(0, static_cast<uint64_t>(file_.pid));
      made.set(1, stream.deviceKind);
      made.set(2, stream.deviceIndex);
      made.set(3, now);
      out_.push(made);
    }
    return &stream;
  }

  void reportPeaks(Stream& stream, const ProbeRecord& record, uint64_t timeNs) {
    Record made = recordOf(RecordKind::kAllocatorPeaks, RecordSource::kProbe, stream.id, timeNs);
    bool changed = false;
    for (unsigned i = 0; i < 4; ++i) {
      if (!known(record, kPeakValues[i])) continue;
      const uint64_t value = record.v[kPeakValues[i]];
      changed |= (stream.peaksKnown >> i & 1) == 0 || stream.peaks[i] != value;
      stream.peaks[i] = value;
      stream.peaksKnown = static_cast<uint8_t>(stream.peaksKnown | 1u << i);
      made.set(i, value);
    }
    if (changed) out_.push(made);
  }

  ProbeSource& source_;
  File& file_;
  const uint64_t timeNs_;
  RecordSink& out_;
};

ProbeSource::ProbeSource(const std::string& directory, uint64_t startNs, int rootPid, HostSource* host)
    : path_(directory), startNs_(startNs), rootPid_(rootPid), host_(host), files_(new File[kFiles]), seen_(new uint64_t[kSeen]()) {}

ProbeSource::~ProbeSource() = default;

SourceReport ProbeSource::probe() {
  SourceReport report;
  report.name = "probe";
  const int error = directory_.open(path_.c_str());
  available_ = error == 0;
  report.available = available_;
  if (available_) report.capabilities = {"rings", "step-file"};
  else report.reason = "the directory of the probes cannot be opened";
  return report;
}

// True the first time; the number of names is bounded, too.
bool ProbeSource::isNew(int pid, uint32_t instance) {
  const uint64_t key = (static_cast<uint64_t>(static_cast<uint32_t>(pid)) << 32 | instance) + 1;
  size_t at = static_cast<size_t>((key * 0x9e3779b97f4a7c15ULL) >> 50);
  static_assert(kSeen == 1 << 14, "the hash takes the upper 14 bits");
  while (seen_[at] != 0) {
    if (seen_[at] == key) return false;
    at = (at + 1) & (kSeen - 1);
  }
  if (seenCount_ < kMaxSeen && used_ < kFiles) {
    seen_[at] = key;
    ++seenCount_;
    return true;
  }
  refused_ = true;
  errors_.note(*out_, timeNs_, RecordSource::kProbe, -1, 0, kProbeTooManyFiles);
  return false;
}

void ProbeSource::ring(int pid, uint32_t instance, const char* name) {
  if (pid == rootPid_ || !isNew(pid, instance) || (host_ != nullptr && host_->ignores(host_->pidOf(pid)))) return;
  UniqueFd fd = directory_.openFile(name);
  if (!fd) {
    errors_.note(*out_, timeNs_, RecordSource::kProbe, pid, errno, kProbeFileUnreadable);
    return;
  }
  File& file = files_[used_++];
  file.ring.adopt(static_cast<UniqueFd&&>(fd), timeNs_);
  file.pid = pid;
  file.stepKnown = false;
  file.reportedLost = 0;
  file.nextCheckNs = timeNs_ + kQuietNs;
  file.streamCount = 0;
}

// New names, and a step file that was put there or replaced.
void ProbeSource::look(uint64_t timeNs, RecordSink& out) {
  if (timeNs < nextLookNs_) return;
  nextLookNs_ = timeNs + kLookPeriodNs;
  if (!directory_.changed() && !(refused_ && used_ < kFiles && seenCount_ < kMaxSeen)) return;
  refused_ = false;
  timeNs_ = timeNs;
  out_ = &out;
  if (!directory_.list(*this, kMaxEntries)) errors_.note(out, timeNs, RecordSource::kProbe, -1, 0, kProbeDirectoryTooLarge);
  UniqueFd step = directory_.openFile(kStepFile);
  if (!step && errno != ENOENT) errors_.note(out, timeNs, RecordSource::kProbe, -1, errno, kProbeStepUnreadable);
  stepFile_.adopt(static_cast<UniqueFd&&>(step));
}

void ProbeSource::reportLost(File& file, uint64_t timeNs, RecordSink& out, bool all) {
  const uint64_t lost = file.ring.lost();
  if (lost == file.reportedLost || (!all && lost < 2 * file.reportedLost)) return;
  file.reportedLost = lost;
  Record made = recordOf(RecordKind::kError, RecordSource::kProbe, file.pid, timeNs);
  made.set(0, 0);
  made.set(1, kProbeRecordsLost);
  made.set(2, lost);
  out.push(made);
}

// A program may count its steps faster than it writes records, or have nothing to write but the step.
void ProbeSource::reportHeaderStep(File& file, uint64_t timeNs, RecordSink& out) {
  const ProbeHeader& header = file.ring.header();
  if ((header.flags & kProbeStepsSeen) == 0 || (file.stepKnown && header.step == file.step)) return;
  file.step = header.step;
  file.stepKnown = true;
  pushStep(out, timeNs, file.pid, header.step);
}

void ProbeSource::close(File& file, uint64_t timeNs, RecordSink& out) {
  reportLost(file, timeNs, out, true);
  file.ring.close();
}

bool ProbeSource::isGone(int ownPid) const {
  const int pid = host_ == nullptr ? ownPid : host_->pidOf(ownPid);
  return pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH);
}

void ProbeSource::drainFile(File& file, uint64_t timeNs, RecordSink& out, uint64_t& budget) {
  Delivery delivery(*this, file, timeNs, out);
  const ProbeFile::Answer answer = file.ring.drain(timeNs, delivery, batch_, budget);
  switch (answer) {
    case ProbeFile::Answer::kForeign:
    case ProbeFile::Answer::kTruncated:
      errors_.note(out, timeNs, RecordSource::kProbe, file.pid, 0,
                   answer == ProbeFile::Answer::kForeign ? kProbeNotARing : kProbeRingTruncated);
      close(file, timeNs, out);
      return;
    case ProbeFile::Answer::kIdle:
      // The pid is the writer's own. From a namespace within the job it may be no process here, or another one: then
      // the check is wasted, but harmless.
      if (timeNs - file.ring.lastMovedNs() < kQuietNs || timeNs < file.nextCheckNs) break;
      file.nextCheckNs = timeNs + kQuietNs;
      if (isGone(file.pid)) {
        close(file, timeNs, out);
        return;
      }
      break;
    case ProbeFile::Answer::kMoved:
    case ProbeFile::Answer::kEnded:
      break;
  }
  if (!file.ring.hasHeader()) return;
  reportHeaderStep(file, timeNs, out);
  reportLost(file, timeNs, out, false);
  if (answer == ProbeFile::Answer::kEnded) close(file, timeNs, out);
}

void ProbeSource::drain(uint64_t timeNs, RecordSink& out, uint64_t budget, uint64_t budgetPerFile) {
  const size_t count = used_;
  for (size_t i = 0; i < count && budget > 0; ++i) {
    uint64_t mine = budgetPerFile < budget ? budgetPerFile : budget;
    const uint64_t given = mine;
    drainFile(files_[(turn_ + i) % count], timeNs, out, mine);
    budget -= given - mine;
  }
  if (count > 0) turn_ = (turn_ + 1) % count;
  // Removes closed files by moving the last one into their slot.
  for (size_t i = 0; i < used_;) {
    if (files_[i].ring.isOpen()) {
      ++i;
    } else {
      --used_;
      if (i != used_) files_[i] = static_cast<File&&>(files_[used_]);
    }
  }
}

void ProbeSource::readStepFile(uint64_t timeNs, RecordSink& out) {
  switch (stepFile_.read()) {
    case StepFile::Answer::kNothing:
    case StepFile::Answer::kSame:
      return;
    case StepFile::Answer::kUnreadable:
      errors_.note(out, timeNs, RecordSource::kProbe, -1, 0, kProbeStepUnreadable);
      return;
    case StepFile::Answer::kChanged:
      pushStep(out, timeNs, -1, stepFile_.step());
  }
}

void ProbeSource::sample(uint64_t timeNs, RecordSink& out) {
  if (!available_) return;
  if (timeNs >= nextDrainNs_) {
    nextDrainNs_ = timeNs + kDrainPeriodNs;
    look(timeNs, out);
    drain(timeNs, out, kBudget, kBudgetPerFile);
  }
  if (timeNs >= nextStepNs_) {
    nextStepNs_ = timeNs + kStepPeriodNs;
    readStepFile(timeNs, out);
  }
}

void ProbeSource::finish(uint64_t timeNs, RecordSink& out) {
  if (!available_) return;
  nextLookNs_ = timeNs;
  look(timeNs, out);
  readStepFile(timeNs, out);
  for (int i = 0; i < kLastLooks; ++i) drain(timeNs, out, kLastBudget, kProbeMaxCapacity);
  for (size_t i = 0; i < used_; ++i) {
    if (files_[i].ring.inDoubt()) errors_.note(out, timeNs, RecordSource::kProbe, files_[i].pid, 0, kProbeNotARing);
    close(files_[i], timeNs, out);
  }
  used_ = 0;
}

}  // namespace stormlog
