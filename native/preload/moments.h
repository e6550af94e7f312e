// When a process without a probe writes its samples: at seconds of the run, or at steps that the program reports.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "own_thread.h"
#include "process_facts.h"

namespace stormlog_heap {

// The step that a program without a probe has reported: by the step file of the run, or by `stormlog_gate_step`.
// Without constructors: used before those of the library run.
class Steps {
 public:
  // `directory`: of the probe.
  void begin(const char* directory) {
    Text path;
    path.add(directory).add("/step");
    file_[0] = '\0';
    if (!path.cut() && path.size() < sizeof file_) memcpy(file_, path.text(), path.size() + 1);
    void* found = dlsym(RTLD_DEFAULT, "stormlog_gate_last_step");
    memcpy(&reported_, &found, sizeof found);
  }

  // -1 before the first.
  int64_t last() const {
    const uint64_t reported = reported_ == nullptr ? 0 : reported_();
    const int64_t written = inFile();
    return reported > 0 && reported <= INT64_MAX && static_cast<int64_t>(reported) > written ? static_cast<int64_t>(reported) : written;
  }

 private:
  int64_t inFile() const {
    const int fd = open(file_, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return -1;
    char text[32];
    const ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return -1;
    text[length] = '\0';
    char* end = nullptr;
    const long long step = strtoll(text, &end, 10);
    return end == text ? -1 : step;
  }

  char file_[PATH_MAX];
  uint64_t (*reported_)();
};

// Without constructors: used before those of the library run.
class Moments {
 public:
  // Those of "seconds:1.5,3" or "steps:10,20"; none for null. `directory`: of the probe.
  void begin(const char* text, const char* directory) {
    count_ = first_ = 0;
    beganS_ = runBegan(directory);
    if (text == nullptr) return;
    inSteps_ = strncmp(text, "steps:", 6) == 0;
    if (!inSteps_ && strncmp(text, "seconds:", 8) != 0) return;
    for (const char* at = strchr(text, ':') + 1; *at != '\0' && count_ < kMax;) {
      char* end = nullptr;
      const double one = strtod(at, &end);
      if (end == at || !(one >= 0)) return;
      at_[count_++] = one;
      at = *end == ',' ? end + 1 : end;
      if (at == end && *at != '\0') return;
    }
  }

  unsigned count() const { return count_; }

  // Leaves out the steps that were over before this process began. By the program's own thread: that of `await` may
  // first run when the program has already reported steps.
  void skipOver(const Steps& steps) {
    if (!inSteps_) return;
    const int64_t step = steps.last();
    for (first_ = 0; first_ < count_ && isDue(first_, step);) ++first_;
  }

  // Calls `write(moment, step)` at each moment, until it returns false; -1 for a step of moments in seconds, of which
  // those that are over are left out. Returns early when the program has no thread left.
  template <typename Write>
  void await(const Steps& steps, OwnThread& own, Write write) const {
    if (inSteps_) awaitSteps(steps, own, write);
    else awaitSeconds(own, write);
  }

 private:
  static constexpr unsigned kMax = 64;
  static constexpr uint64_t kStepLookNs = 10 * 1000 * 1000;

  template <typename Write>
  void awaitSteps(const Steps& steps, OwnThread& own, Write write) const {
    int64_t step = steps.last();
    for (unsigned moment = first_; moment < count_; ++moment) {
      for (; !isDue(moment, step); step = steps.last()) {
        if (own.sleep(kStepLookNs)) return;
      }
      while (moment + 1 < count_ && isDue(moment + 1, step)) ++moment;
      if (!write(moment, step)) return;
    }
  }

  template <typename Write>
  void awaitSeconds(OwnThread& own, Write write) const {
    for (unsigned moment = 0; moment < count_; ++moment) {
      const double left = leftS(moment);
      if (left < -1) continue;
      if (left > 0 && own.sleep(toNs(left))) return;
      if (!write(moment, -1)) return;
    }
  }

  bool isDue(unsigned moment, int64_t step) const { return static_cast<double>(step) >= at_[moment]; }
  // Seconds until a moment, negative once it is over.
  double leftS(unsigned moment) const { return beganS_ + at_[moment] - wallS(); }

  static uint64_t toNs(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

  static double wallS() {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
  }

  // When the run began: the gate writes its recording file just before.
  static double runBegan(const char* directory) {
    Text path;
    path.add(directory).add("/../recording.json");
    struct stat facts {};
    // The call itself: the function of this name needs a newer C library.
    if (path.cut() || syscall(SYS_newfstatat, AT_FDCWD, path.text(), &facts, 0) != 0) return wallS();
    return static_cast<double>(facts.st_mtim.tv_sec) + static_cast<double>(facts.st_mtim.tv_nsec) / 1e9;
  }

  double at_[kMax];
  unsigned count_;
  unsigned first_;
  bool inSteps_;
  double beganS_;
};

}  // namespace stormlog_heap
