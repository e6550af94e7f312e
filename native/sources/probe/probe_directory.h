// The directory of the probes' files: detects changes, lists its rings, opens its files. Its content belongs to the
// measured processes, so only regular files are opened, never through a link, and a listing is bounded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../support/unique_fd.h"

namespace stormlog {

class ProbeDirectory {
 public:
  class Visitor {
   public:
    // `<pid>.<instance>.probe`.
    virtual void ring(int pid, uint32_t instance, const char* name) = 0;

   protected:
    ~Visitor() = default;
  };

  // Returns 0 or an errno.
  int open(const char* path);

  // True when a name may have been added or removed since the last call that returned true, and where that is unknown.
  bool changed();

  // Calls back for every ring, at most `limit` directory entries long; false when there are more.
  bool list(Visitor& visitor, size_t limit);

  // A regular file for reading; an invalid descriptor with errno, ELOOP for a link, EINVAL for another kind of file.
  UniqueFd openFile(const char* name) const;

 private:
  UniqueFd fd_;
  int64_t changedS_ = -1;
  int64_t changedNs_ = -1;
  // The times of directories are as coarse as the kernel's tick: a name added right after a check may not change the
  // time, so the next few checks after a change list the directory again.
  unsigned again_ = 0;
};

// Parses the name of a ring; false for another file.
bool parseRingName(const char* name, int& pid, uint32_t& instance);

}  // namespace stormlog
