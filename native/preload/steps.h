// The step that a program without a probe has reported: by the step file of the run, or by `stormlog_gate_step`.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "process_facts.h"

namespace stormlog_heap {

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

}  // namespace stormlog_heap
