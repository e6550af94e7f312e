// The control group's memory as a source, on platforms that have such groups; elsewhere a source that says it is not
// there.
#pragma once

#include <memory>
#include <string>

#include "source.h"

namespace stormlog {

class HostSource;

// `host` knows which pids belong to the job; null where only the capabilities are asked for.
std::unique_ptr<Source> createCgroupSource(const std::string& procRoot, int rootPid, HostSource* host);

}  // namespace stormlog
