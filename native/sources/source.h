// What every backend is: it can say what it can read here, and read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../record_format.h"

namespace stormlog {

struct SourceReport {
  std::string name;
  bool available = false;
  // Why not, when not available.
  std::string reason;
  std::vector<std::string> capabilities;
};

struct DeviceReport {
  int index = 0;
  std::string name;
  std::string model;
  std::string uuid;
  // 0 = unknown.
  uint64_t totalBytes = 0;
  std::string driver;
};

class Source {
 public:
  virtual ~Source() = default;

  // Opens what is needed and says what can be read. May allocate and block; never called from a sampling loop.
  virtual SourceReport probe() = 0;

  // Reads once and pushes records stamped `timeNs` (since time zero). Allocates nothing and never throws.
  virtual void sample(uint64_t timeNs, RecordSink& out) = 0;
};

}  // namespace stormlog
