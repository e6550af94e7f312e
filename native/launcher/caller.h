// The gate that started the launcher through `sudo`, which resets user, groups, limits, mask and environment.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace stormlog_launcher {

class Caller {
 public:
  bool known = false;

  // Of a living process, while this one is root, and the environment that it sends. False when anything is missing.
  bool read(int pid, int environmentFd);

  // Makes this process one of that caller, with nothing to read. False when something is refused.
  bool become() const;

 private:
  static constexpr size_t kGroups = 65536;

  bool readStatus(int pid);
  bool readEnvironment(int fd);

  uid_t user_ = 0;
  gid_t group_ = 0;
  mode_t mask_ = 0;
  gid_t groups_[kGroups];
  size_t groupCount_ = 0;
};

}  // namespace stormlog_launcher
