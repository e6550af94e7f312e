// Process lists in every version that drivers have had.
#include "../harness.h"
#include "nvml_support.h"

using namespace stormlog;
using testing_support::callsOf;
using testing_support::Capture;
using testing_support::entriesOf;
using testing_support::has;
using testing_support::library;
using testing_support::libraryWithout;
using testing_support::Scenario;
using testing_support::sleepMs;
using testing_support::TempDirectory;

namespace {

constexpr uint64_t kMiB = 1 << 20;

// Entries and memory of all processes of device 0 by one list.
struct Listed {
  explicit Listed(const std::string& path) : backend(path) {
    report = backend.probe();
    backend.sample(1, out);
    backend.sampleProcesses(1, out);
    entries = entriesOf(out, 0, 1);
  }
  NvmlBackend backend;
  SourceReport report;
  Capture out;
  std::vector<Record> entries;
};

std::string compute(const char* suffix) { return std::string("nvmlDeviceGetComputeRunningProcesses") + suffix; }

}  // namespace

TEST("each driver's own set of lists is read") {
  for (const char* api : {"470", "510", "535.54", "535.98", "550", "565", "580"}) {
    Scenario scenario(std::string("devices 1\nat 0 0 1000 0 100000\nproc 0 0 4001 5000\nproc 0 0 4002 6000\napi ") + api + "\n");
    TempDirectory directory;
    // With all versions of the function, and without the safest one.
    for (const std::string& path : {library(), libraryWithout(directory, {compute("_v2")})}) {
      Listed listed(path);
      CHECK_EQ(listed.entries.size(), 2);
      CHECK(!listed.entries.empty() && listed.entries[1].v[0] == 6000);
    }
  }
  Scenario scenario("devices 1\nat 0 0 1000 0 100000\nproc 0 0 4001 5000\n");
  TempDirectory directory;
  Listed details(libraryWithout(directory, {compute(""), compute("_v2")}));
  CHECK_EQ(details.entries.size(), 1);
  CHECK(!details.entries.empty() && details.entries[0].v[0] == 5000);
}

TEST("a process that is in several lists counts once, with the largest memory of them") {
  Scenario scenario(
      "devices 1\nat 0 0 1000 0 100000\nproc 0 0 4001 5000\nproc 0 0 4001 9000 again\nproc 0 0 4001 7000 graphics\n"
      "proc 0 0 4002 na\nproc 0 0 4002 600 mps\nproc 0 0 4003 na graphics\n");
  Listed listed(library());
  CHECK_EQ(listed.entries.size(), 3);
  for (const Record& entry : listed.entries) {
    if (entry.id == 4001) CHECK(entry.v[0] == 9000 && entry.v[3] == 3 && (entry.valid & 1));
    if (entry.id == 4002) CHECK(entry.v[0] == 600 && entry.v[3] == 5 && (entry.valid & 1));
    if (entry.id == 4003) CHECK(entry.v[0] == 0 && entry.v[3] == 2 && !(entry.valid & 1));
  }
  const Record* list = listed.out.last(RecordKind::kDeviceList);
  CHECK_EQ(list->v[0], 3);
  CHECK(list->v[1] > 0);
  CHECK_EQ(list->v[2], 1);
  CHECK_EQ(listed.backend.devices()[0].listEntries, 3);
  CHECK_EQ(listed.backend.devices()[0].listUnknown, 1);
}

TEST("memory that the driver does not know is unknown, and pid 0 is not a process") {
  Scenario scenario("devices 1\nat 0 0 1000 0 100000\nproc 0 0 0 5000\nproc 0 0 4001 na\nproc 0 0 4002 0\n");
  Listed listed(library());
  CHECK_EQ(listed.entries.size(), 2);
  for (const Record& entry : listed.entries) CHECK(!(entry.valid & 1) && entry.v[0] == 0);
}

TEST("a list that grows between being measured and being read is read") {
  std::string text = "devices 1\nat 0 0 1000 0 100000\ngrow 2\n";
  for (int i = 0; i < 3000; ++i) text += i < 1500 ? "proc 0 0 " + std::to_string(10000 + i) + " 1000\n" : "";
  Scenario scenario(text);
  Listed listed(library());
  CHECK_EQ(listed.entries.size(), 1500);
  CHECK_EQ(listed.out.last(RecordKind::kDeviceList)->v[0], 1500);
}

TEST("a list that is refused is a reason, and memory is read all the same") {
  for (const int code : {3, 4}) {
    Scenario scenario("devices 1\nat 0 0 1000 0 100000\nproc 0 0 4001 5\nerror 0 0 " + std::to_string(code) + " processes\n");
    Listed listed(library());
    CHECK_EQ(listed.entries.size(), 0);
    CHECK_EQ(listed.out.count(RecordKind::kDeviceList), 0);
    CHECK_EQ(listed.out.count(RecordKind::kDevice), 1);
    CHECK_EQ(listed.out.count(RecordKind::kError), 0);
    const DeviceReport device = listed.backend.devices()[0];
    CHECK(!has(device, "processes"));
    CHECK(device.reason.find(nvmlCodeName(code)) != std::string::npos);
    CHECK_EQ(device.listEntries, -1);
  }
  Scenario scenario("devices 1\nat 0 0 1000 0 100000\nproc 0 0 4001 5\nerror-call 2 0 10 processes\n");
  // A transient error loses only that list.
  Listed listed(library());
  CHECK_EQ(listed.entries.size(), 1);
}

TEST("a change of memory that no list explains asks for one, and only that") {
  Scenario scenario("devices 1\nat 0 0 1000 0 999000000\nat 60 0 " + std::to_string(20 * kMiB) + " 0 999000000\nat 140 0 " +
                    std::to_string(60 * kMiB) + " 0 999000000\n");
  Listed listed(library());
  CHECK(!listed.backend.wantsProcesses());
  sleepMs(80);
  listed.backend.sample(2, listed.out);
  CHECK(!listed.backend.wantsProcesses());
  sleepMs(80);
  listed.backend.sample(3, listed.out);
  CHECK(listed.backend.wantsProcesses());
  listed.backend.sampleProcesses(4, listed.out);
  CHECK(!listed.backend.wantsProcesses());
  listed.backend.sample(5, listed.out);
  CHECK(!listed.backend.wantsProcesses());
}

TEST("lists that were empty are asked for again only now and then") {
  TempDirectory directory;
  Scenario scenario("devices 1\nat 0 0 1000 0 100000\nproc 0 0 4001 5000\ncalls " + (directory / "calls") + "\n");
  {
    Listed listed(library());
    for (uint64_t i = 2; i <= 16; ++i) listed.backend.sampleProcesses(i, listed.out);
  }
  CHECK_EQ(callsOf(directory / "calls", "GetComputeRunning"), 16);
  CHECK_EQ(callsOf(directory / "calls", "GetGraphicsRunning"), 2);
}
