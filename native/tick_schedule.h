// Absolute deadlines of a periodic loop. A tick that comes too late for its successors drops them; it never runs a
// burst to catch up, because samples bunched in time would count one time several times.
#pragma once

#include <cstdint>

namespace stormlog {

class TickSchedule {
 public:
  TickSchedule(uint64_t startNs, uint64_t periodNs) : next_(startNs), period_(periodNs) {}

  uint64_t nextNs() const { return next_; }
  uint64_t periodNs() const { return period_; }
  uint64_t missed() const { return missed_; }
  bool due(uint64_t nowNs) const { return nowNs >= next_; }
  uint64_t latenessNs(uint64_t nowNs) const { return nowNs > next_ ? nowNs - next_ : 0; }

  // After the work of a tick: moves to the first deadline still ahead, counting those skipped.
  void advance(uint64_t nowNs) {
    next_ += period_;
    if (next_ > nowNs) return;
    const uint64_t skipped = (nowNs - next_) / period_ + 1;
    missed_ += skipped;
    next_ += skipped * period_;
  }

  // Leaves out deadlines before `untilNs` in which nothing is to be done; they do not count as skipped.
  void pass(uint64_t untilNs) {
    if (untilNs > next_) next_ += (untilNs - next_) / period_ * period_;
  }

  // The new period counts from the last deadline, so a change is neither a missed nor an extra tick.
  void setPeriod(uint64_t periodNs) {
    next_ = next_ - period_ + periodNs;
    period_ = periodNs;
  }

 private:
  uint64_t next_;
  uint64_t period_;
  uint64_t missed_ = 0;
};

}  // namespace stormlog
