#include "../device_worker.h"
#include "../sources/nvml.h"
#include "harness.h"
#include "support.h"

using namespace stormlog;
using testing_support::built;
using testing_support::Capture;
using testing_support::sleepMs;
using testing_support::TempFolder;

namespace {

struct Scenario {
  explicit Scenario(const std::string& text) {
    folder.write("scenario", text);
    setenv("FAKE_NVML_SCENARIO", (folder / "scenario").c_str(), 1);
  }
  TempFolder folder;
};

const char* const kTwoDevices =
    "devices 2\ndriver 575.57.08\nat 0 0 1000 50 10000\nat 0 1 2000 50 20000\nat 120 0 7000 50 10000\n";

std::string library(const char* variant) { return built(std::string(variant) + "/libnvidia-ml.so.1"); }

bool has(const SourceReport& report, const std::string& capability) {
  for (const std::string& each : report.capabilities) {
    if (each == capability) return true;
  }
  return false;
}

DeviceOptions workerOptions(const char* variant = "full") {
  DeviceOptions options;
  options.timeZeroNs = monotonicNs();
  options.periodNs = 5 * kMillisecond;
  options.nvmlPath = library(variant);
  return options;
}

}  // namespace

TEST("devices are described and their memory follows the scenario over time") {
  Scenario scenario(kTwoDevices);
  NvmlSource source(library("full"));
  const SourceReport report = source.probe();
  CHECK(report.available);
  CHECK(has(report, "memory:v2"));
  CHECK_EQ(source.devices().size(), 2);
  CHECK(source.devices()[1].name == "cuda:1");
  CHECK(source.devices()[1].model == "Fake GPU 1");
  CHECK(source.devices()[1].uuid == "GPU-fake-1");
  CHECK(source.devices()[1].driver == "575.57.08");
  CHECK_EQ(source.devices()[1].totalBytes, 20000);
  Capture out;
  source.sample(1, out);
  CHECK_EQ(out.records.size(), 2);
  CHECK_EQ(out.records[0].v[0], 1000);
  CHECK_EQ(out.records[0].v[1], 10000);
  CHECK_EQ(out.records[0].v[2], 8950);
  CHECK_EQ(out.records[0].v[3], 50);
  CHECK_EQ(out.records[0].valid, 15);
  uint64_t used = 0;
  CHECK(source.usedBytes(used));
  CHECK_EQ(used, 3000);
  sleepMs(150);
  source.sample(2, out);
  CHECK_EQ(out.records[2].v[0], 7000);
}

TEST("without the v2 query the older one serves, and the reserve is unknown, not zero") {
  Scenario scenario(kTwoDevices);
  NvmlSource source(library("v1"));
  CHECK(has(source.probe(), "memory:v1"));
  Capture out;
  source.sample(1, out);
  CHECK_EQ(out.records[0].v[0], 1050);
  CHECK_EQ(out.records[0].valid, 7);
}

TEST("a v2 query that is refused falls back to v1") {
  Scenario scenario(std::string(kTwoDevices) + "v2-code 25\n");
  NvmlSource source(library("full"));
  CHECK(has(source.probe(), "memory:v1"));
  Capture out;
  source.sample(1, out);
  CHECK_EQ(out.records.size(), 2);
  CHECK_EQ(out.records[0].valid, 7);
}

TEST("a missing library, a missing symbol and a driver that refuses are reasons, not crashes") {
  Scenario scenario("devices 1\ninit 9\n");
  CHECK(NvmlSource("/no/such/libnvidia-ml.so.1").probe().reason.find("cannot be loaded") != std::string::npos);
  CHECK(NvmlSource(library("nocount")).probe().reason.find("cannot list") != std::string::npos);
  const SourceReport refused = NvmlSource(library("full")).probe();
  CHECK(!refused.available);
  CHECK(refused.reason.find("DRIVER_NOT_LOADED") != std::string::npos);
}

TEST("no device and devices without memory of their own are told apart") {
  {
    Scenario scenario("devices 0\n");
    CHECK(NvmlSource(library("full")).probe().reason == "no NVIDIA device is visible");
  }
  Scenario scenario("devices 1\nat 0 0 0 0 0\n");
  NvmlSource source(library("full"));
  CHECK(source.probe().available);
  CHECK_EQ(source.devices()[0].totalBytes, 0);
  Capture out;
  source.sample(1, out);
  CHECK_EQ(out.records.size(), 1);
  CHECK_EQ(out.records[0].valid, 0);
  uint64_t used = 0;
  CHECK(!source.usedBytes(used));
}

TEST("a lost device ends with one error record while the other goes on") {
  Scenario scenario(std::string(kTwoDevices) + "error 60 0 15\n");
  NvmlSource source(library("full"));
  source.probe();
  Capture out;
  source.sample(1, out);
  sleepMs(100);
  for (uint64_t i = 2; i < 12; ++i) source.sample(i, out);
  CHECK_EQ(out.count(RecordKind::kError), 1);
  const Record* error = out.last(RecordKind::kError);
  CHECK_EQ(error->v[1], 15);
  CHECK_EQ(error->id, 0);
  CHECK_EQ(out.count(RecordKind::kDevice), 2 + 10);
}

TEST("a passing error is recorded and the device is read again") {
  Scenario scenario(std::string(kTwoDevices) + "error-call 3 1 10\n");
  NvmlSource source(library("full"));
  source.probe();
  Capture out;
  for (uint64_t i = 0; i < 5; ++i) source.sample(i, out);
  CHECK_EQ(out.count(RecordKind::kError), 1);
  CHECK_EQ(out.count(RecordKind::kDevice), 9);
}

TEST("the device thread samples at its rate and hands records over") {
  Scenario scenario(kTwoDevices);
  DeviceWorker worker(workerOptions());
  CHECK_EQ(worker.start(), 0);
  CHECK(worker.waitProbed(5 * kSecond));
  sleepMs(300);
  worker.stop(kSecond);
  Record record;
  size_t count = 0;
  bool ordered = true;
  uint64_t last = 0;
  while (worker.take(record)) {
    ordered &= record.timeNs >= last;
    last = record.timeNs;
    ++count;
  }
  CHECK(ordered);
  CHECK_EQ(count, worker.ticks() * 2);
  CHECK(worker.ticks() > 20);
  CHECK_EQ(worker.lostRecords(), 0);
}

TEST("a slow driver makes missed ticks, not a burst") {
  Scenario scenario(std::string(kTwoDevices) + "latency 8000\n");
  DeviceWorker worker(workerOptions());
  worker.start();
  worker.waitProbed(5 * kSecond);
  sleepMs(400);
  worker.stop(kSecond);
  CHECK(worker.missed() > worker.ticks());
  CHECK(worker.ticks() < 40);
}

TEST("a driver that hangs at its start delays nobody and is reported as not answering") {
  Scenario scenario(std::string(kTwoDevices) + "hang-init 700\n");
  const uint64_t begin = monotonicNs();
  DeviceWorker worker(workerOptions());
  worker.start();
  CHECK(!worker.waitProbed(100 * kMillisecond));
  CHECK(!worker.report().available);
  CHECK(worker.report().reason.find("not answered") != std::string::npos);
  CHECK(worker.devices().empty());
  worker.stop(50 * kMillisecond);
  CHECK(monotonicNs() - begin < 500 * kMillisecond);
  // Let the abandoned thread come back and find its state still there.
  sleepMs(900);
}
