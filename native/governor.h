// Keeps a sampling thread under its CPU budget by widening and narrowing its period. Pure: the caller brings time and
// CPU time.
#pragma once

#include <cstdint>

namespace stormlog {

class Governor {
 public:
  static constexpr uint64_t kWindowNs = 1000000000ULL;
  static constexpr uint64_t kMaxPeriodNs = 1000000000ULL;
  // Halving the period about doubles the cost; asking for this much room below the budget keeps the period from
  // swinging.
  static constexpr double kHeadroom = 0.8;
  // What was used above the budget (a start at full rate, a burst of processes) is owed, and paid back within about
  // this time, so that the budget holds for the run and not only for its last second. Unused budget is not saved up.
  static constexpr double kRepayNs = 10e9;
  // A thread that uses no more than this share of the budget is not slowed down for what other threads owe: otherwise a
  // training of 2.9 s on an H200 got only 8 samples of its host memory.
  static constexpr double kOwnShare = 0.2;

  // `budget` is a fraction of one core (0.01 = 1 %); below 0 nothing is governed and the period never changes.
  Governor(uint64_t configuredPeriodNs, double budget) : Governor(configuredPeriodNs, budget, configuredPeriodNs) {}

  // Begins at another, longer period than the configured one, to which it returns where the budget allows.
  Governor(uint64_t configuredPeriodNs, double budget, uint64_t firstPeriodNs)
      : configured_(configuredPeriodNs), period_(firstPeriodNs), budget_(budget) {}

  void setBudget(double budget) { budget_ = budget; }

  uint64_t periodNs() const { return period_; }

  // True when a window is over and `update` needs the CPU time.
  bool due(uint64_t nowNs) const { return !started_ || nowNs - windowStartNs_ >= kWindowNs; }

  // Decides once per window; true when the period changed. `othersCpuNs` is CPU time that counts against the budget and
  // that a shorter period would not raise.
  bool update(uint64_t nowNs, uint64_t cpuNs, uint64_t othersCpuNs = 0);

 private:
  uint64_t configured_;
  uint64_t period_;
  double budget_;
  uint64_t windowStartNs_ = 0;
  uint64_t windowCpuNs_ = 0;
  uint64_t windowOthersNs_ = 0;
  double owedNs_ = 0;
  bool started_ = false;
};

inline bool Governor::update(uint64_t nowNs, uint64_t cpuNs, uint64_t othersCpuNs) {
  if (!started_) {
    started_ = true;
    windowStartNs_ = nowNs;
    windowCpuNs_ = cpuNs;
    windowOthersNs_ = othersCpuNs;
    return false;
  }
  const uint64_t elapsed = nowNs - windowStartNs_;
  if (elapsed < kWindowNs) return false;
  const double own = static_cast<double>(cpuNs - windowCpuNs_) / static_cast<double>(elapsed);
  const double others = static_cast<double>(othersCpuNs - windowOthersNs_) / static_cast<double>(elapsed);
  windowStartNs_ = nowNs;
  windowCpuNs_ = cpuNs;
  windowOthersNs_ = othersCpuNs;
  if (budget_ < 0) return false;
  const uint64_t before = period_;
  const double spent = own + others;
  owedNs_ += (spent - budget_) * static_cast<double>(elapsed);
  if (owedNs_ < 0) owedNs_ = 0;
  const double repay = owedNs_ / kRepayNs < budget_ / 2 ? owedNs_ / kRepayNs : budget_ / 2;
  const double minOwn = budget_ * kOwnShare;
  if (spent > budget_ - repay && own > minOwn) {
    period_ = period_ * 2 < kMaxPeriodNs ? period_ * 2 : (kMaxPeriodNs > period_ ? kMaxPeriodNs : period_);
  } else if (period_ > configured_ && (own * 2 < minOwn || own * 2 + others < budget_ * kHeadroom - repay)) {
    period_ = period_ / 2 > configured_ ? period_ / 2 : configured_;
  } else if (period_ > configured_ && own * 1.5 + others < budget_ * kHeadroom - repay) {
    // Where half the period is too expensive, two thirds may not be.
    period_ = period_ * 2 / 3 > configured_ ? period_ * 2 / 3 : configured_;
  }
  return period_ != before;
}

}  // namespace stormlog
