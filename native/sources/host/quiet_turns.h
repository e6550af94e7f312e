// Schedules the checks of quiet processes, whose memory did not change in many readings. Pure: the caller brings the
// time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../support/clock.h"

namespace stormlog {

class QuietTurns {
 public:
  // Readings in a row that changed nothing, after which a process is quiet.
  static constexpr uint8_t kAfter = 16;
  // Where more than kFew are quiet, each is only checked this often for CPU time, at a third of the cost of a reading,
  // and read if it ran. The kernel may report that one scheduler tick (4 ms) late; the high-water mark includes a spike
  // in between.
  static constexpr uint64_t kPeriodNs = 5 * kMillisecond;
  static constexpr size_t kFew = 4;
  // Checks are batched into groups that do not delay a tick: while all processes sleep, no sample is needed between two
  // groups. A tick may come a little before its group is due.
  static constexpr size_t kGroup = 32;
  static constexpr uint64_t kSlackNs = kMillisecond / 2;

  // Begins a pass over all processes; `visits` follows for each quiet one, in order.
  void begin(uint64_t elapsedNs) {
    few_ = count_ <= kFew;
    size_t visits = count_;
    if (!few_ && elapsedNs < kPeriodNs) {
      // Checks that do not fill a group are carried over to the next pass.
      dueNs_ += count_ * elapsedNs;
      visits = static_cast<size_t>((dueNs_ + count_ * kSlackNs) / (group() * kPeriodNs)) * group();
      const uint64_t done = visits * kPeriodNs;
      dueNs_ -= done < dueNs_ ? done : dueNs_;
    }
    from_ = to_ < count_ ? to_ : 0;
    to_ = from_ + visits;
    count_ = 0;
    all_ = true;
  }

  bool few() const { return few_; }

  // Whether the next quiet process is to be checked.
  bool visits() {
    const size_t ordinal = count_++;
    return few_ || (ordinal >= from_ && ordinal < to_);
  }

  // A process is not quiet, or no longer.
  void moved() { all_ = false; }

  // For how long after this pass no check is due.
  uint64_t stillForNs() const {
    if (!all_ || count_ <= kFew) return 0;
    const uint64_t due = group() * kPeriodNs;
    return due > dueNs_ ? (due - dueNs_) / count_ : 0;
  }

 private:
  size_t group() const { return count_ < kGroup ? count_ : kGroup; }

  size_t from_ = 0;
  size_t to_ = 0;
  size_t count_ = 0;
  uint64_t dueNs_ = 0;
  bool few_ = true;
  bool all_ = false;
};

}  // namespace stormlog
