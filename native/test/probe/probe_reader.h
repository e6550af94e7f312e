// The probe source over a directory, with the records it pushed.
#pragma once

#include <string>
#include <vector>

#include "../../sources/probe/probe_source.h"
#include "../support.h"

namespace testing_support {

using stormlog::kMillisecond;
using stormlog::kSecond;
using stormlog::ProbeSource;
using stormlog::RecordSource;
using stormlog::SourceReport;

// A source whose clock is moved by hand, 100 ms a sample, so that every sample reads the directory.
struct Reader {
  // Time zero is `ageNs` ago.
  explicit Reader(const std::string& directory, int rootPid = 0, uint64_t ageNs = kSecond)
      : source(directory, stormlog::monotonicNs() - ageNs, rootPid), timeNs(ageNs) {
    report = source.probe();
  }
  void sample() { source.sample(timeNs += 100 * kMillisecond, out); }
  void finish() { source.finish(timeNs += 100 * kMillisecond, out); }

  std::vector<const Record*> all(RecordKind kind) const {
    std::vector<const Record*> found;
    for (const Record& record : out.records) {
      if (record.kind == kind) found.push_back(&record);
    }
    return found;
  }
  // Largest count reported of an error; 0 when it was not reported.
  uint64_t reported(uint64_t code, int pid = -2) const {
    uint64_t most = 0;
    for (const Record* record : all(RecordKind::kError)) {
      if (record->source == RecordSource::kProbe && record->v[1] == code && (pid == -2 || record->id == pid) && record->v[2] > most) most = record->v[2];
    }
    return most;
  }

  ProbeSource source;
  SourceReport report;
  Capture out;
  uint64_t timeNs;
};

}  // namespace testing_support
