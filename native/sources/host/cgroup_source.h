// The control group's memory as a source. On platforms without control groups it reports itself as unavailable.
#pragma once

#include <memory>
#include <string>

#include "../source.h"

namespace stormlog {

class HostSource;

class CgroupSource : public Source {
 public:
  // Shared memory and tmpfs files that are charged to the group, mapped or not; false when it cannot be read or the
  // group also contains processes outside the job.
  virtual bool ownShmem(uint64_t& out) = 0;
};

// `host` knows which pids belong to the job; null when only the capabilities are needed.
std::unique_ptr<CgroupSource> createCgroupSource(const std::string& procRoot, int rootPid, HostSource* host);

}  // namespace stormlog
