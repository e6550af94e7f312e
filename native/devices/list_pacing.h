// When process lists may be read. A list holds locks of the driver that allocations of the measured program wait for,
// so from the third list on they take at most 1/200 of the time, apart from single outliers. Pure: the caller brings
// the time.
#pragma once

#include <cstdint>

#include "../support/clock.h"

namespace stormlog {

class ListPacing {
 public:
  static constexpr uint64_t kRegularNs = 1 * kSecond;
  static constexpr uint64_t kEventNs = 250 * kMillisecond;
  static constexpr uint64_t kShare = 200;
  // The first lists do not wait for the cost of the one before: after a slow list a run of some seconds would end
  // before the next, and the owners of its memory would be unknown.
  static constexpr unsigned kFirstLists = 3;
  // Maximum share of the thread's CPU budget for lists.
  static constexpr double kBudgetShare = 0.5;

  // `budget` is the fraction of one core the thread may use, below 0 for any. `wanted`: something happened that a list
  // would explain.
  bool due(uint64_t nowNs, bool wanted, double budget) const {
    if (lists_ == 0) return true;
    const uint64_t elapsed = nowNs - lastNs_;
    if (elapsed < (wanted ? kEventNs : kRegularNs)) return false;
    if (lists_ < kFirstLists) return true;
    // A single slow list may be an outlier (a driver that hung, a busy machine), so the faster of the last two counts.
    if (elapsed < kShare * (tookNs_ < beforeNs_ ? tookNs_ : beforeNs_)) return false;
    return budget < 0 || static_cast<double>(cpuNs_) <= static_cast<double>(elapsed) * budget * kBudgetShare;
  }

  // A list was read: when it began, how long it took, and what CPU time of this thread it used.
  void done(uint64_t beganNs, uint64_t tookNs, uint64_t cpuNs) {
    if (lists_ < kFirstLists) ++lists_;
    lastNs_ = beganNs;
    beforeNs_ = tookNs_;
    tookNs_ = tookNs;
    cpuNs_ = cpuNs;
  }

 private:
  unsigned lists_ = 0;
  uint64_t lastNs_ = 0;
  uint64_t tookNs_ = 0;
  uint64_t beforeNs_ = 0;
  uint64_t cpuNs_ = 0;
};

}  // namespace stormlog
