// The reader against the real writer: a Python process that writes without a pause.
#include <glob.h>

#include "../../sources/probe/probe_file.h"
#include "../harness.h"
#include "../support.h"

using namespace stormlog;
using testing_support::Child;
using testing_support::sleepMs;
using testing_support::TempDirectory;

namespace {

constexpr uint64_t kFewDrains = 100000;
// On a busy machine the writer may not run while the reader does: drains go on until it did.
constexpr uint64_t kMinRecords = 5000;

// The path of the only ring in the directory, once there is one.
std::string ringIn(const TempDirectory& directory) {
  for (int i = 0; i < 1000; ++i) {
    glob_t found{};
    const bool one = glob((directory / "*.probe").c_str(), 0, nullptr, &found) == 0 && found.gl_pathc == 1;
    const std::string path = one ? found.gl_pathv[0] : "";
    globfree(&found);
    if (one) return path;
    sleepMs(10);
  }
  return "";
}

struct Sound final : ProbeFile::Visitor {
  void record(const ProbeRecord& record) override {
    const uint64_t value = record.v[kProbeAllocated];
    sound &= record.v[kProbeReserved] == (value ^ 0x5555) && record.v[kProbeStepNumber] == value && (seen == 0 || value > last);
    last = value;
    ++seen;
  }
  bool sound = true;
  uint64_t seen = 0;
  uint64_t last = 0;
};

}  // namespace

TEST("no drain of the ring of a real Python process finds a torn header or a torn record") {
  const char* probe = std::getenv("NATIVE_TEST_PROBE");
  if (std::system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null") != 0 || probe == nullptr) {
    std::printf("    skipped: no python3 of at least 3.8\n");
    return;
  }
  const char* asked = std::getenv("STORMLOG_TEST_RING_DRAINS");
  const uint64_t drains = asked != nullptr ? std::strtoull(asked, nullptr, 10) : kFewDrains;
  TempDirectory directory;
  const std::string root = probe;
  Child writer({"python3", "-S", root + "/../test/probe/stand-ins/ring_writer.py", root + "/inject", directory.path()}, "/usr/bin/env");
  const std::string path = ringIn(directory);
  ProbeFile ring;
  ring.adopt(UniqueFd(open(path.c_str(), O_RDONLY)), monotonicNs());
  CHECK(ring.isOpen());
  ProbeFile::Batch batch;
  Sound visitor;
  uint64_t doubtful = 0;
  uint64_t dropped = 0;
  uint64_t fallen = 0;
  uint64_t step = 0;
  for (uint64_t i = 0; (i < drains || (visitor.seen < kMinRecords && i < 100 * drains)) && dropped == 0; ++i) {
    uint64_t budget = 4096;
    const ProbeFile::Answer answer = ring.drain(monotonicNs(), visitor, batch, budget);
    dropped += answer == ProbeFile::Answer::kForeign || answer == ProbeFile::Answer::kTruncated ? 1 : 0;
    doubtful += ring.inDoubt() ? 1 : 0;
    if (!ring.hasHeader() || (ring.header().flags & kProbeStepsSeen) == 0) continue;
    fallen += ring.header().step < step ? 1 : 0;
    step = ring.header().step;
  }
  std::printf("    %llu drains, %llu records\n", static_cast<unsigned long long>(drains), static_cast<unsigned long long>(visitor.seen));
  CHECK_EQ(dropped, 0);
  CHECK_EQ(doubtful, 0);
  CHECK_EQ(fallen, 0);
  CHECK(visitor.sound);
  CHECK(visitor.seen >= kMinRecords);
  CHECK_EQ(visitor.seen + ring.lost(), visitor.last + 1);
}
