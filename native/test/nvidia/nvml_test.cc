#include "../../devices/device_worker.h"
#include "../harness.h"
#include "nvml_support.h"

using namespace stormlog;
using testing_support::Capture;
using testing_support::has;
using testing_support::library;
using testing_support::nvmlBackend;
using testing_support::Scenario;
using testing_support::sleepMs;

namespace {

const char* const kTwoDevices =
    "devices 2\ndriver 575.57.08\nat 0 0 1000 50 10000\nat 0 1 2000 50 20000\nat 120 0 7000 50 10000\n";

uint64_t in(uint64_t ns) { return monotonicNs() + ns; }

DeviceOptions workerOptions() {
  DeviceOptions options;
  options.timeZeroNs = monotonicNs();
  options.periodNs = 5 * kMillisecond;
  return options;
}

}  // namespace

TEST("devices are described and their memory follows the scenario over time") {
  Scenario scenario(kTwoDevices);
  NvmlBackend source(library("full"));
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
  NvmlBackend source(library("v1"));
  CHECK(has(source.probe(), "memory:v1"));
  Capture out;
  source.sample(1, out);
  CHECK_EQ(out.records[0].v[0], 1050);
  CHECK_EQ(out.records[0].valid, 7);
}

TEST("a v2 query that is refused falls back to v1") {
  Scenario scenario(std::string(kTwoDevices) + "v2-code 25\n");
  NvmlBackend source(library("full"));
  CHECK(has(source.probe(), "memory:v1"));
  Capture out;
  source.sample(1, out);
  CHECK_EQ(out.records.size(), 2);
  CHECK_EQ(out.records[0].valid, 7);
}

TEST("a missing library, a missing symbol and a driver that refuses are reasons, not crashes") {
  Scenario scenario("devices 1\ninit 9\n");
  CHECK(NvmlBackend("/no/such/libnvidia-ml.so.1").probe().reason.find("cannot be loaded") != std::string::npos);
  CHECK(NvmlBackend(library("nocount")).probe().reason.find("cannot list") != std::string::npos);
  const SourceReport refused = NvmlBackend(library("full")).probe();
  CHECK(!refused.available);
  CHECK(refused.reason.find("DRIVER_NOT_LOADED") != std::string::npos);
}

TEST("no device and devices without memory of their own are distinguished") {
  {
    Scenario scenario("devices 0\n");
    CHECK(NvmlBackend(library("full")).probe().reason == "no NVIDIA device is visible");
  }
  Scenario scenario("devices 1\nat 0 0 0 0 0\n");
  NvmlBackend source(library("full"));
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
  NvmlBackend source(library("full"));
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
  NvmlBackend source(library("full"));
  source.probe();
  Capture out;
  for (uint64_t i = 0; i < 5; ++i) source.sample(i, out);
  CHECK_EQ(out.count(RecordKind::kError), 1);
  CHECK_EQ(out.count(RecordKind::kDevice), 9);
}

TEST("the device thread samples at its rate and hands records over") {
  Scenario scenario(kTwoDevices);
  DeviceWorker worker("nvml", nvmlBackend(), workerOptions());
  CHECK_EQ(worker.start(), 0);
  CHECK(worker.waitReady(in(5 * kSecond)));
  sleepMs(300);
  worker.stop(in(kSecond));
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
  // One more each for the process list at the start.
  CHECK_EQ(count, worker.stats().ticks * 2 + 2);
  CHECK(worker.stats().ticks > 20);
  CHECK_EQ(worker.stats().lostRecords, 0);
}

TEST("a slow driver makes missed ticks, not a burst") {
  Scenario scenario(std::string(kTwoDevices) + "latency 8000\n");
  DeviceWorker worker("nvml", nvmlBackend(), workerOptions());
  worker.start();
  worker.waitReady(in(5 * kSecond));
  sleepMs(400);
  worker.stop(in(kSecond));
  CHECK(worker.stats().missed > worker.stats().ticks);
  CHECK(worker.stats().ticks < 40);
}

TEST("a driver that hangs at its start delays no sample and is reported as not answering") {
  Scenario scenario(std::string(kTwoDevices) + "hang-init 700\n");
  const uint64_t begin = monotonicNs();
  DeviceWorker worker("nvml", nvmlBackend(), workerOptions());
  worker.start();
  CHECK(!worker.waitReady(in(100 * kMillisecond)));
  CHECK(!worker.report().available);
  CHECK(worker.report().reason.find("not answered") != std::string::npos);
  CHECK(worker.devices().empty());
  worker.stop(in(50 * kMillisecond));
  CHECK(monotonicNs() - begin < 500 * kMillisecond);
  // Wait until the abandoned thread returns and uses its state, which must still exist.
  sleepMs(900);
}
