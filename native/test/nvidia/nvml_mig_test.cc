// MIG devices, exact peaks by accounting, and events of the driver.
#include "../../devices/device_worker.h"
#include "../harness.h"
#include "nvml_support.h"

using namespace stormlog;
using testing_support::callsOf;
using testing_support::Capture;
using testing_support::entriesOf;
using testing_support::eventsOf;
using testing_support::has;
using testing_support::library;
using testing_support::nvmlBackend;
using testing_support::Scenario;
using testing_support::sleepMs;

namespace {

const char* const kMig =
    "devices 2\nmodel 0 NVIDIA A100-SXM4-40GB\npci 0 00000000:3B:00.0\nat 0 0 5000 0 40000000\nat 0 1 700 0 9000\n"
    "mig 0 0 3g.20gb MIG-aaaa 20000000\nmig 0 3 1g.5gb MIG-bbbb 5000000\n"
    "at 0 0.0 1000 10 20000000\nat 0 0.3 2000 20 5000000\nproc 0 0.0 4001 900\nproc 0 0.3 4002 1900\n";

// The last peak that was reported of a process.
const Record* peakOf(const Capture& out, int pid) { return out.last(RecordKind::kDeviceProcessPeak, pid); }

}  // namespace

TEST("a divided GPU is read through its MIG devices, with their profiles and names, and not itself") {
  for (const char* more : {"", "mig-only 0\n"}) {
    Scenario scenario(std::string(kMig) + more);
    NvmlBackend backend(library());
    CHECK(backend.probe().available);
    const std::vector<DeviceReport>& devices = backend.devices();
    CHECK_EQ(devices.size(), 4);
    if (devices.size() != 4) continue;
    CHECK(has(devices[0], "mig") && !has(devices[0], "memory"));
    CHECK(devices[0].reason.find("divided by MIG") != std::string::npos);
    CHECK_EQ(devices[0].reason.find("NO_PERMISSION") != std::string::npos, *more != '\0');
    CHECK(devices[1].name == "mig:0.0" && devices[2].name == "mig:0.3" && devices[3].name == "cuda:1");
    CHECK_EQ(devices[2].index, kMigDevices + 3);
    CHECK_EQ(devices[2].parent, 0);
    CHECK(devices[2].uuid == "MIG-bbbb");
    CHECK(devices[2].migProfile == "1g.5gb");
    CHECK(devices[2].pciBusId == "0000:3b:00.0");
    CHECK_EQ(devices[2].totalBytes, 5000000);
    Capture out;
    backend.sample(1, out);
    backend.sampleProcesses(1, out);
    CHECK(out.last(RecordKind::kDevice, 0) == nullptr);
    CHECK_EQ(out.last(RecordKind::kDevice, kMigDevices)->v[0], 1000);
    CHECK_EQ(out.last(RecordKind::kDevice, kMigDevices + 3)->v[0], 2000);
    CHECK_EQ(entriesOf(out, kMigDevices, 1).size(), 1);
    CHECK_EQ(entriesOf(out, kMigDevices + 3, 1)[0].id, 4002);
    uint64_t used = 0;
    CHECK(backend.usedBytes(used));
    CHECK_EQ(used, 3700);
  }
}

TEST("a MIG device whose handle died is looked up by its UUID again") {
  Scenario scenario(std::string(kMig) + "error 60 0.3 2\nerror 200 0.3 0\n");
  NvmlBackend backend(library());
  backend.probe();
  Capture out;
  const uint64_t begin = monotonicNs();
  for (int i = 0; i < 60; ++i) {
    backend.sample(monotonicNs() - begin, out);
    sleepMs(5);
  }
  CHECK_EQ(eventsOf(out, DeviceEvent::kRecovered), 1);
  CHECK(out.last(RecordKind::kDevice, kMigDevices + 3)->timeNs > out.last(RecordKind::kDeviceEvent)->timeNs - 1);
}

TEST("identity, persistence and versions are reported") {
  Scenario scenario("devices 1\ndriver 575.57.08\nnvml 12.575.57.08\nat 0 0 1 0 10\npersistence 0 off\nattach 60\npci 0 00000001:C1:00.0\n");
  NvmlBackend backend(library());
  const uint64_t begin = monotonicNs();
  const SourceReport report = backend.probe();
  CHECK(monotonicNs() - begin > 55 * kMillisecond);
  CHECK(has(report, "nvml:12.575.57.08"));
  const DeviceReport device = backend.devices()[0];
  CHECK(has(device, "persistence:off"));
  CHECK(device.pciBusId == "00000001:c1:00.0" || device.pciBusId == "0001:c1:00.0");
  CHECK(device.driver == "575.57.08");
  CHECK(device.backend == "nvml");
}

TEST("accounting gives exact peaks of the job's processes, living and ended, and of no others") {
  Scenario scenario(
      "devices 2\nat 0 0 9000 0 100000\nat 0 1 1 0 10\naccounting 0 on\naccounting 1 off\n"
      "proc 0 0 4001 5000\nproc 60 0 4001 gone\nproc 0 0 4002 100\npeak 0 4001 6500\npeak 0 4002 200\npeak 0 4003 0\nproc 0 0 4003 50\n");
  NvmlBackend backend(library());
  JobPids pids;
  backend.follow(&pids);
  backend.probe();
  CHECK(has(backend.devices()[0], "accounting"));
  CHECK(has(backend.devices()[1], "accounting:off"));
  const int job[] = {4001, 4003};
  pids.publish(job, 2);
  Capture out;
  backend.sample(1, out);
  backend.sampleProcesses(1, out);
  CHECK(peakOf(out, 4001) != nullptr);
  if (peakOf(out, 4001) == nullptr) return;
  CHECK_EQ(peakOf(out, 4001)->v[0], 6500);
  CHECK_EQ(peakOf(out, 4001)->v[1], 0);
  CHECK(peakOf(out, 4002) == nullptr);
  // 0 is unknown.
  CHECK(peakOf(out, 4003) == nullptr);
  // Unchanged is not repeated.
  backend.sampleProcesses(2, out);
  CHECK_EQ(out.count(RecordKind::kDeviceProcessPeak), 1);
  sleepMs(80);
  pids.publish(job + 1, 1);
  backend.sampleProcesses(3, out);
  backend.finish(4, out);
  CHECK_EQ(peakOf(out, 4001)->v[2], 1);
  CHECK_EQ(peakOf(out, 4001)->v[0], 6500);
  CHECK(peakOf(out, 4002) == nullptr && peakOf(out, 4003) == nullptr);
}

TEST("a process too short for any list has its peak at the end, and an earlier process with its pid has none") {
  // Pids without a process: they have ended.
  Scenario scenario("");
  scenario.set("devices 1\nat 0 0 9000 0 100000\naccounting 0 on\npeak 0 4000002 777\nfollow " + (scenario.directory / "follow") + "\n");
  NvmlBackend backend(library());
  JobPids pids;
  backend.follow(&pids);
  backend.probe();
  Capture out;
  backend.sampleProcesses(1, out);
  const int job[] = {17, 4000001, 4000002};
  pids.publish(job, 3);
  backend.sample(2, out);
  pids.publish(job, 1);
  backend.sample(3, out);
  scenario.directory.write("follow", "4000001 0 0 6500\n");
  backend.sampleProcesses(4, out);
  CHECK_EQ(out.count(RecordKind::kDeviceProcessPeak), 0);
  backend.finish(5, out);
  CHECK_EQ(out.count(RecordKind::kDeviceProcessPeak), 1);
  const Record* peak = peakOf(out, 4000001);
  CHECK(peak != nullptr && peak->v[0] == 6500 && peak->v[2] == 1);
}

TEST("accounting that may not be read is reported as denied") {
  Scenario scenario("devices 2\nat 0 0 1 0 10\nat 0 1 1 0 10\naccounting 0 denied\naccounting 1 unsupported\n");
  NvmlBackend backend(library());
  backend.probe();
  CHECK(has(backend.devices()[0], "accounting:denied"));
  for (const std::string& capability : backend.devices()[1].capabilities) CHECK(capability.find("accounting") == std::string::npos);
}

TEST("events of the driver arrive through the worker while memory is read") {
  Scenario scenario(
      "devices 2\nat 0 0 1 0 10\nat 0 1 1 0 10\nevent 120 1 xid 79\nevent 160 0 ecc 2\nevent 200 0 unavailable 1\n");
  DeviceOptions options;
  options.timeZeroNs = monotonicNs();
  options.periodNs = 10 * kMillisecond;
  DeviceWorker worker("nvml", nvmlBackend(), options);
  CHECK_EQ(worker.start(), 0);
  CHECK(worker.waitReady(monotonicNs() + 5 * kSecond));
  CHECK(has(worker.report(), "events"));
  sleepMs(500);
  worker.stop(monotonicNs() + kSecond);
  Capture out;
  Record record;
  while (worker.take(record)) out.push(record);
  CHECK_EQ(eventsOf(out, DeviceEvent::kXid), 1);
  CHECK_EQ(eventsOf(out, DeviceEvent::kDoubleBitEcc), 1);
  CHECK_EQ(eventsOf(out, DeviceEvent::kUnavailable), 1);
  for (const Record& each : out.records) {
    if (each.kind != RecordKind::kDeviceEvent || each.v[0] != static_cast<uint64_t>(DeviceEvent::kXid)) continue;
    CHECK_EQ(each.id, 1);
    CHECK_EQ(each.v[1], 79);
    CHECK_EQ(each.valid, 3);
    CHECK(each.timeNs > 50 * kMillisecond);
  }
}

TEST("a driver whose events fail at once causes no busy loop and no record of a device") {
  Scenario scenario("");
  const std::string calls = scenario.directory / "calls";
  scenario.set("devices 1\nat 0 0 1 0 10\nerror 0 * 15 nvmlEventSetWait_v2\ncalls " + calls + "\n");
  Capture out;
  {
    DeviceOptions options;
    options.timeZeroNs = monotonicNs();
    options.periodNs = kSecond;
    DeviceWorker worker("nvml", nvmlBackend(), options);
    worker.start();
    worker.waitReady(monotonicNs() + 5 * kSecond);
    sleepMs(700);
    worker.stop(monotonicNs() + 5 * kSecond);
    Record record;
    while (worker.take(record)) out.push(record);
  }
  // The health thread releases the library shortly after it reports that it is done.
  for (int i = 0; i < 200 && callsOf(calls, "EventSetWait") < 0; ++i) sleepMs(10);
  CHECK(callsOf(calls, "EventSetWait") >= 1 && callsOf(calls, "EventSetWait") < 40);
  CHECK_EQ(out.count(RecordKind::kError), 0);
}
