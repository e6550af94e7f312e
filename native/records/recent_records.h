// Records that are not yet in the record file: a queue of fixed size, and a file with the same content for the case
// that the gate is killed. `src/telemetry/reading/recent-records.ts` reads it.
//
// File: a header of 64 bytes (magic, u64 number of the next record, u64 number of the first one that is held, u64
// capacity, little-endian, rest 0), then `capacity` slots of a record; record n is in slot n modulo the capacity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "../record_format.h"
#include "../support/unique_fd.h"

namespace stormlog {

constexpr char kRecentMagic[8] = {'S', 'L', 'G', 'R', 'C', 'N', '\x01', '\n'};

class RecentRecords {
 public:
  // Ten seconds of a thousand records a second and more; 768 KiB, of which what was never used takes no memory.
  static constexpr size_t kCapacity = 16384;

  RecentRecords() : bytes_(new unsigned char[kCapacity * sizeof(Record)]) {}

  // Creates `path`, which must not exist. Without a file the records are held in memory alone.
  void open(const char* path);
  void remove(const char* path);

  bool empty() const { return head_ == tail_; }
  bool full() const { return head_ - tail_ == kCapacity; }

  // The queue must not be full, or empty.
  void push(const Record& record);
  Record front() const;
  Record pop();

  // Writes what changed since the last time. After a failure the file is left as it is.
  void flush();

 private:
  unsigned char* slot(uint64_t number) const { return &bytes_[number % kCapacity * sizeof(Record)]; }

  std::unique_ptr<unsigned char[]> bytes_;
  UniqueFd fd_;
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
  uint64_t writtenHead_ = 0;
  uint64_t writtenTail_ = 0;
};

}  // namespace stormlog
