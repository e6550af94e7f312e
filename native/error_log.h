// Errors as records: the first of each (source, id, errno, code) at once, repeats only when their number doubles, so
// that a source failing 200 times a second costs a dozen records, not a file full.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record_format.h"

namespace stormlog {

class ErrorLog {
 public:
  static constexpr size_t kDistinct = 64;

  void note(RecordSink& out, uint64_t timeNs, RecordSource source, int32_t id, int error, uint64_t code) {
    Entry& entry = find(source, id, error, code);
    ++entry.times;
    if ((entry.times & (entry.times - 1)) != 0) return;
    Record record;
    record.timeNs = timeNs;
    record.kind = RecordKind::kError;
    record.source = entry.source;
    record.id = entry.id;
    record.set(0, static_cast<uint64_t>(entry.error));
    record.set(1, entry.code);
    record.set(2, entry.times);
    out.push(record);
  }

 private:
  struct Entry {
    RecordSource source;
    int32_t id;
    int error;
    uint64_t code;
    uint64_t times;
  };

  Entry& find(RecordSource source, int32_t id, int error, uint64_t code) {
    for (size_t i = 0; i < used_; ++i) {
      Entry& e = entries_[i];
      if (e.source == source && e.id == id && e.error == error && e.code == code) return e;
    }
    // Once the table is full, the last entry collects all further errors under the identity of its first one.
    Entry& e = entries_[used_ < kDistinct ? used_ : kDistinct - 1];
    if (used_ < kDistinct) {
      ++used_;
      e = Entry{source, id, error, code, 0};
    }
    return e;
  }

  Entry entries_[kDistinct]{};
  size_t used_ = 0;
};

}  // namespace stormlog
