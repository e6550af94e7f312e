// Platforms without control groups.
#include "cgroup_source.h"

namespace stormlog {
namespace {

class NoCgroups final : public CgroupSource {
 public:
  SourceReport probe() override {
    SourceReport report;
    report.name = "cgroup";
    report.reason = "this platform has no control groups";
    return report;
  }
  void sample(uint64_t, RecordSink&) override {}
  bool ownShmem(uint64_t&) override { return false; }
};

}  // namespace

std::unique_ptr<CgroupSource> createCgroupSource(const std::string&, int, HostSource*) {
  return std::unique_ptr<CgroupSource>(new NoCgroups());
}

}  // namespace stormlog
