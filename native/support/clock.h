// The three clocks of the sampler, all in nanoseconds.
#pragma once

#include <cerrno>
#include <cstdint>
#include <ctime>

namespace stormlog {

constexpr uint64_t kMicrosecond = 1000;
constexpr uint64_t kMillisecond = 1000 * kMicrosecond;
constexpr uint64_t kSecond = 1000 * kMillisecond;

inline uint64_t readClock(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * kSecond + static_cast<uint64_t>(t.tv_nsec);
}

// Time of every record; shared with the probe in the measured process.
inline uint64_t monotonicNs() { return readClock(CLOCK_MONOTONIC); }

// CPU time used so far by the calling thread.
inline uint64_t threadCpuNs() { return readClock(CLOCK_THREAD_CPUTIME_ID); }

// Unix time at the monotonic time `startNs`: read between two monotonic reads, so that a preemption does not shift it.
inline int64_t epochAt(uint64_t startNs) {
  const uint64_t before = monotonicNs();
  const uint64_t wall = readClock(CLOCK_REALTIME);
  const uint64_t after = monotonicNs();
  return static_cast<int64_t>(wall) - static_cast<int64_t>((before + (after - before) / 2) - startNs);
}

// Sleeps until an absolute time of CLOCK_MONOTONIC, so that a late tick does not shift the next.
inline void sleepUntilNs(uint64_t deadlineNs) {
#if defined(__APPLE__)
  // macOS has no clock_nanosleep; the deadline is still absolute, only its last step is relative.
  const uint64_t now = monotonicNs();
  if (now >= deadlineNs) return;
  const uint64_t rest = deadlineNs - now;
  timespec t{static_cast<time_t>(rest / kSecond), static_cast<long>(rest % kSecond)};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) {
  }
#else
  const timespec t{static_cast<time_t>(deadlineNs / kSecond), static_cast<long>(deadlineNs % kSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
#endif
}

}  // namespace stormlog
