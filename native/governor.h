// Keeps a sampling thread under its CPU budget by widening and narrowing its period. Pure: the caller brings time and CPU time.
#pragma once

#include <cstdint>

namespace stormlog {

class Governor {
 public:
  static constexpr uint64_t kWindowNs = 1000000000ULL;
  static constexpr uint64_t kLongestPeriodNs = 1000000000ULL;
  // Halving the period about doubles the cost; asking for this much room below the budget keeps the period from swinging.
  static constexpr double kHeadroom = 0.8;

  // `budget` is a fraction of one core (0.01 = 1 %); below 0 there is no governor and the period never changes.
  Governor(uint64_t configuredPeriodNs, double budget) : configured_(configuredPeriodNs), period_(configuredPeriodNs), budget_(budget) {}

  uint64_t periodNs() const { return period_; }

  // True when a window is over, so that the CPU time is worth asking for.
  bool due(uint64_t nowNs) const { return !started_ || nowNs - windowStartNs_ >= kWindowNs; }

  // Looks once per window; true when the period changed.
  bool update(uint64_t nowNs, uint64_t cpuNs);

 private:
  uint64_t configured_;
  uint64_t period_;
  double budget_;
  uint64_t windowStartNs_ = 0;
  uint64_t windowCpuNs_ = 0;
  bool started_ = false;
};

inline bool Governor::update(uint64_t nowNs, uint64_t cpuNs) {
  if (!started_) {
    started_ = true;
    windowStartNs_ = nowNs;
    windowCpuNs_ = cpuNs;
    return false;
  }
  const uint64_t elapsed = nowNs - windowStartNs_;
  if (elapsed < kWindowNs) return false;
  const double share = static_cast<double>(cpuNs - windowCpuNs_) / static_cast<double>(elapsed);
  windowStartNs_ = nowNs;
  windowCpuNs_ = cpuNs;
  if (budget_ < 0) return false;
  const uint64_t before = period_;
  if (share > budget_) {
    period_ = period_ * 2 < kLongestPeriodNs ? period_ * 2 : (kLongestPeriodNs > period_ ? kLongestPeriodNs : period_);
  } else if (period_ > configured_ && share * 2 < budget_ * kHeadroom) {
    period_ = period_ / 2 > configured_ ? period_ / 2 : configured_;
  }
  return period_ != before;
}

}  // namespace stormlog
