// Platforms without control groups.
#include "cgroup_source.h"

namespace stormlog {
namespace {

class NoCgroups final : public Source {
 public:
  SourceReport probe() override {
    SourceReport report;
    report.name = "cgroup";
    report.reason = "this platform has no control groups";
    return report;
  }
  void sample(uint64_t, RecordSink&) override {}
};

}  // namespace

std::unique_ptr<Source> createCgroupSource(const std::string&, int, HostSource*) { return std::unique_ptr<Source>(new NoCgroups()); }

}  // namespace stormlog
