// The thread that a preloaded library adds to a program. It ends with the program's own threads: the C library ends a
// process whose main thread has left by `pthread_exit` when the last thread returns.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "../support/clock.h"

namespace stormlog_heap {

using stormlog::monotonicNs;
using stormlog::readClock;

// To some milliseconds. Does not read the processor's counter, which ends a program under strict seccomp on x86.
inline uint64_t coarseNs() { return readClock(CLOCK_MONOTONIC_COARSE); }

inline void sleepNs(uint64_t ns) {
  timespec t{static_cast<time_t>(ns / 1000000000ULL), static_cast<long>(ns % 1000000000ULL)};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR) {
  }
}

// State and number of threads in the text of /proc/<pid>/stat; false when it is cut.
inline bool parseStat(const char* text, char& state, unsigned& threads) {
  // "<pid> (<name>) <state> …": the name may contain anything. The number of threads is the 17th field after the state.
  const char* at = strrchr(text, ')');
  if (at == nullptr || at[1] != ' ' || at[2] == '\0') return false;
  state = at[2];
  at += 2;
  for (int skipped = 0; skipped < 17; ++skipped) {
    at = strchr(at, ' ');
    if (at == nullptr) return false;
    ++at;
  }
  threads = 0;
  const char* digits = at;
  for (; *at >= '0' && *at <= '9' && at - digits < 9; ++at) threads = threads * 10 + static_cast<unsigned>(*at - '0');
  return at != digits && *at == ' ';
}

// Without constructors: used before those of the library run.
class OwnThread {
 public:
  // In the constructor of the library, which the main thread runs. `other`: the exported count of the other library.
  void begin(const char* other) {
    main_ = pthread_self();
    hasMain_ = true;
    void* found = dlsym(RTLD_DEFAULT, other);
    memcpy(&other_, &found, sizeof found);
    // ThreadSanitizer ends a child of a process with threads that starts a thread.
    restarts_ = dlsym(RTLD_DEFAULT, "__tsan_init") == nullptr;
  }

  // All signals are blocked in `body`. `stackBytes`: 0 for the usual size.
  void start(void (*body)(), size_t stackBytes = 0) {
    body_ = body;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &programMask_);
    // Where static thread-local memory leaves no room on so small a stack, the usual one.
    small_ = stackBytes != 0 && create(&enter, stackBytes);
    if (!small_) create(&enter, 0);
    pthread_sigmask(SIG_SETMASK, &programMask_, nullptr);
  }

  // In a child, by its fork handler: the parent's thread does not exist there.
  void startAfterFork(void (*body)(), size_t stackBytes = 0) {
    running_.store(0, std::memory_order_relaxed);
    hasMain_ = hasMain_ && pthread_equal(pthread_self(), main_) != 0;
    if (restarts_) start(body, stackBytes);
  }

  // Threads of this library in the process, never more than there are.
  unsigned running() const { return running_.load(std::memory_order_acquire); }

  // Called in `body`. Returns early, and true, once the program has no thread left; `body` must then return.
  bool sleep(uint64_t ns) {
    const uint64_t until = monotonicNs() + ns;
    for (;;) {
      const uint64_t now = monotonicNs();
      if (now - lookedNs_ >= kLookNs) {
        lookedNs_ = now;
        if (isLast()) return true;
      }
      if (now >= until) return false;
      sleepNs(until - now < kLookNs ? until - now : kLookNs);
    }
  }

 private:
  static constexpr uint64_t kLookNs = 100 * 1000 * 1000;
  static constexpr uint64_t kHandOverNs = 1000 * 1000;
  static constexpr unsigned kHandOverLooks = 1000;

  // The main thread has ended, and all others are of the two libraries.
  bool isLast() const {
    // One call of the kernel, and no file, while the main thread runs: the kernel clears its number when it ends.
    if (hasMain_ && pthread_kill(main_, 0) == 0) return false;
    const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    char text[1024];
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    char mainState = '\0';
    unsigned threads = 0;
    if (!parseStat(text, mainState, threads) || mainState != 'Z') return false;
    return threads <= 1 + running() + (other_ == nullptr ? 0 : other_());
  }

  bool create(void* (*entry)(void*), size_t stackBytes) {
    pthread_attr_t attributes;
    if (stackBytes != 0 && (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, stackBytes) != 0)) return false;
    pthread_t thread;
    if (pthread_create(&thread, stackBytes == 0 ? nullptr : &attributes, entry, this) != 0) return false;
    pthread_detach(thread);
    return true;
  }

  static void* enter(void* self) {
    auto& own = *static_cast<OwnThread*>(self);
    own.running_.store(1, std::memory_order_release);
    own.body_();
    // The program's exit handlers run in the thread that returns last: with its signals, on a stack of the usual size.
    if (own.isLast()) {
      pthread_sigmask(SIG_SETMASK, &own.programMask_, nullptr);
      if (own.small_ && own.create(&leaveLast, 0)) return nullptr;
    }
    own.running_.store(0, std::memory_order_release);
    return nullptr;
  }

  // Returns once the thread that made it has ended.
  static void* leaveLast(void* self) {
    auto& own = *static_cast<OwnThread*>(self);
    for (unsigned look = 0; look < kHandOverLooks && !own.isLast(); ++look) sleepNs(kHandOverNs);
    own.running_.store(0, std::memory_order_release);
    return nullptr;
  }

  pthread_t main_;
  // False in a child that another thread forked.
  bool hasMain_;
  bool restarts_;
  bool small_;
  unsigned (*other_)();
  void (*body_)();
  sigset_t programMask_;
  uint64_t lookedNs_;
  std::atomic<unsigned> running_;
};

}  // namespace stormlog_heap
