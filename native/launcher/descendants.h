// Finds every process that belongs to the job: below this one by parentage (it is their subreaper, so a double fork or
// setsid does not get them out), or carrying the job's marker in its environment.
#pragma once

#include <cstddef>

namespace stormlog_launcher {

class Descendants {
 public:
  // `marker` is "NAME=value", or empty for parentage alone.
  Descendants(int self, const char* marker);

  // Scans /proc again. Returns how many living (not zombie) members there are.
  size_t scan();
  size_t size() const { return members_; }
  int pid(size_t index) const;

 private:
  bool carriesMarker(int pid);

  const int self_;
  char marker_[512];
  size_t markerSize_;
  size_t members_ = 0;
};

// Whether a signal has stopped the process. In the background of a terminal a person has suspended it, which is false.
bool isStopped(int pid);

}  // namespace stormlog_launcher
