// Writing beyond the limit on file sizes (RLIMIT_FSIZE) fails, and does not end the program.
#pragma once

#include <signal.h>

#include <cerrno>
#include <ctime>

namespace stormlog_heap {

// While it lives, this thread gets no SIGXFSZ; one that came meanwhile is taken. Keeps errno.
class FileSizeSignal {
 public:
  FileSizeSignal() {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    // The program's own stays pending.
    wasPending_ = sigismember(&pending, SIGXFSZ) == 1;
    only(signal_);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~FileSizeSignal() {
    const int error = errno;
    const timespec none{0, 0};
    if (!wasPending_) {
      while (sigtimedwait(&signal_, nullptr, &none) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  FileSizeSignal(const FileSizeSignal&) = delete;
  FileSizeSignal& operator=(const FileSizeSignal&) = delete;

 private:
  static void only(sigset_t& set) {
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
  }

  sigset_t signal_;
  sigset_t before_;
  bool wasPending_;
};

}  // namespace stormlog_heap
