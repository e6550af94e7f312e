// Which allocations are sampled: a Poisson process over the bytes that a thread allocates, so that every byte has the
// same chance, with the interval adapted to what the program allocates.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

namespace stormlog_heap {

// Mean number of bytes between two samples. A growth of 4 MiB is 64 samples, whose spread is an eighth of it.
constexpr uint64_t kMinInterval = 64 * 1024;
constexpr uint64_t kMaxInterval = 64 * 1024 * 1024;
// A sample costs some microseconds: this many a second take less than one percent of the time. A peak is measured only
// once, so its run takes four times as many samples, for half the spread.
constexpr uint64_t kSamplesPerSecond = 1000;
constexpr uint64_t kPeakSamplesPerSecond = 4000;
// Samples before the interval adapts: 256 MiB that come at once are seen as finely as slow growth, for some 20 ms.
constexpr uint64_t kPeakFirstSamples = 4096;
constexpr uint64_t kWindow = 64;

// Natural logarithm for 0 < x <= 1, to 1e-4; no library of mathematics may be needed.
inline double logarithm(double x) {
  uint64_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  const int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0xfffffffffffffULL) | uint64_t{1023} << 52;
  double mantissa = 0;
  memcpy(&mantissa, &bits, sizeof mantissa);
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  return exponent * 0.6931471805599453 + 2 * s * (1 + square * (1 / 3.0 + square * (1 / 5.0 + square * (1 / 7.0 + square / 9))));
}

// 1 - exp(-x) for x >= 0: the chance that an allocation of x intervals is sampled.
inline double chanceOf(double x) {
  if (x > 32) return 1;
  if (x < 1e-3) return x - x * x / 2;
  const double part = -x / 1024;
  double power = 1 + part + part * part / 2 + part * part * part / 6;
  for (int i = 0; i < 10; ++i) power *= power;
  return 1 - power;
}

class Interval {
 public:
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // Called after every sample. `clock()`: nanoseconds, called once a window. `maxPerSecond`: samples, after the `first`
  // ones.
  template <typename Clock>
  void sampled(Clock clock, uint64_t maxPerSecond, uint64_t first) {
    const uint64_t count = count_.fetch_add(1, std::memory_order_relaxed);
    if (count < first || count % kWindow != kWindow - 1) return;
    const uint64_t now = clock();
    const uint64_t took = now - windowStart_.exchange(now, std::memory_order_relaxed);
    const uint64_t aim = kWindow * 1000000000ULL / maxPerSecond;
    const uint64_t current = bytes();
    if (took < aim && current < kMaxInterval) bytes_.store(current * 2, std::memory_order_relaxed);
    else if (took > 4 * aim && current > kMinInterval) bytes_.store(current / 2, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> bytes_{kMinInterval};
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> windowStart_{0};
};

// Bytes to the next sample of one thread.
inline int64_t nextGap(uint64_t& random, uint64_t interval) {
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  const double uniform = (static_cast<double>(random >> 11) + 1) / 9007199254740992.0;
  return static_cast<int64_t>(-logarithm(uniform) * static_cast<double>(interval)) + 1;
}

// Bytes that one thread allocates until its next sample. Zero before the first.
struct Gap {
  void draw(uint64_t& random, const Interval& from) {
    interval = from.bytes();
    left = nextGap(random, interval);
  }

  int64_t left;
  uint64_t interval;
};

}  // namespace stormlog_heap
