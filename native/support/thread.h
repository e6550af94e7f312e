// A POSIX thread that takes no signals. Plain pthread rather than std::thread: that one lives in libstdc++, which the
// shipped addon does without.
#pragma once

#include <pthread.h>
#include <signal.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace stormlog {

class Thread {
 public:
  Thread() = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread() { join(); }

  // Returns 0 or an errno. All signals are blocked in the new thread, so that the host program's handlers keep running
  // on its own threads.
  int start(void* (*entry)(void*), void* argument) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&thread_, nullptr, entry, argument);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    running_ = error == 0;
    return error;
  }

  void join() {
    if (running_) pthread_join(thread_, nullptr);
    running_ = false;
  }

  // Detaches the thread. What it uses must outlive it.
  void detach() {
    if (running_) pthread_detach(thread_);
    running_ = false;
  }

  bool running() const { return running_; }

  static void nameCurrent(const char* name) {
#if defined(__linux__)
    prctl(PR_SET_NAME, name, 0, 0, 0);
#else
    pthread_setname_np(name);
#endif
  }

  // The default slack of 50 µs is cheaper and good enough below 500 Hz; above it, it would be a visible part of the
  // period.
  static void setTimerSlackFor(unsigned long long periodNs) {
#if defined(__linux__)
    if (periodNs < 2000000ULL) prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
#else
    (void)periodNs;
#endif
  }

 private:
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace stormlog
