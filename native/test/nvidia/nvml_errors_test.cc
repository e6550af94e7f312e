// Errors of the driver give a reason and a record, and never a crash or a 0.
#include "../harness.h"
#include "nvml_support.h"

using namespace stormlog;
using testing_support::Capture;
using testing_support::entriesOf;
using testing_support::eventsOf;
using testing_support::has;
using testing_support::library;
using testing_support::libraryWithout;
using testing_support::Scenario;
using testing_support::sleepMs;
using testing_support::TempDirectory;

namespace {

const char* const kTwo = "devices 2\nat 0 0 1000 50 100000\nat 0 1 2000 50 200000\n";

// The id of every record of a kind, as one text.
std::string idsOf(const Capture& out, RecordKind kind) {
  std::string text;
  for (const Record& record : out.records) {
    if (record.kind == kind) text += std::to_string(record.id) + " ";
  }
  return text;
}

}  // namespace

TEST("every code an initialiser may answer is a reason that names it") {
  const std::pair<int, const char*> codes[] = {{9, "DRIVER_NOT_LOADED"}, {18, "LIB_RM_VERSION_MISMATCH"}, {17, "OPERATING_SYSTEM"},
                                               {4, "NO_PERMISSION"},     {999, "UNKNOWN"},                {77, "code 77"}};
  for (const auto& [code, name] : codes) {
    Scenario scenario("devices 1\ninit " + std::to_string(code) + "\n");
    NvmlBackend backend(library());
    const SourceReport report = backend.probe();
    CHECK(!report.available);
    CHECK(report.reason.find(name) != std::string::npos);
    CHECK(backend.devices().empty());
  }
}

TEST("a device whose handle is refused is reported with the reason, and the other is read") {
  for (const int code : {15, 4, 28}) {
    Scenario scenario(std::string(kTwo) + "handle-code 0 " + std::to_string(code) + "\n");
    NvmlBackend backend(library());
    const SourceReport report = backend.probe();
    CHECK(report.available);
    CHECK_EQ(backend.devices().size(), 2);
    CHECK(backend.devices()[0].reason.find(nvmlCodeName(code)) != std::string::npos);
    CHECK(report.reason.find("cuda:0") != std::string::npos);
    CHECK(backend.devices()[1].reason.empty());
    Capture out;
    backend.sample(1, out);
    CHECK(idsOf(out, RecordKind::kDevice) == "1 ");
  }
  Scenario scenario("devices 1\nhandle-code 0 15\n");
  NvmlBackend backend(library());
  const SourceReport report = backend.probe();
  CHECK(!report.available);
  CHECK(report.reason.find("GPU_IS_LOST") != std::string::npos);
  CHECK_EQ(backend.devices().size(), 1);
}

TEST("a machine that shares its memory with the CPU has no device memory, rather than none used") {
  for (const char* how : {"at 0 0 0 0 0\n", "error 0 0 3\n"}) {
    Scenario scenario(std::string("devices 1\nproc 0 0 4242 7000\n") + how);
    NvmlBackend backend(library());
    CHECK(backend.probe().available);
    const DeviceReport device = backend.devices()[0];
    CHECK(device.unified);
    CHECK_EQ(device.totalBytes, 0);
    CHECK(!device.reason.empty());
    CHECK(!has(device, "memory"));
    Capture out;
    backend.sample(1, out);
    backend.sampleProcesses(1, out);
    uint64_t used = 0;
    CHECK(!backend.usedBytes(used));
    CHECK_EQ(out.count(RecordKind::kError), 0);
    CHECK_EQ(out.last(RecordKind::kDevice)->valid, 0);
    // Its processes can still be listed.
    CHECK_EQ(entriesOf(out, 0, 1).size(), 1);
  }
}

TEST("a driver that was exchanged, and a container that lost its devices, end the samples with one record") {
  for (const int code : {18, 999}) {
    Scenario scenario(std::string(kTwo) + "error 60 * " + std::to_string(code) + "\nerror 60 * " + std::to_string(code) + " processes\n");
    NvmlBackend backend(library());
    backend.probe();
    Capture out;
    backend.sample(1, out);
    sleepMs(80);
    for (uint64_t i = 2; i < 100; ++i) {
      backend.sample(i * kSecond, out);
      backend.sampleProcesses(i * kSecond, out);
    }
    backend.finish(100 * kSecond, out);
    CHECK_EQ(out.count(RecordKind::kDevice), 2);
    CHECK_EQ(out.count(RecordKind::kError), 1);
    CHECK_EQ(out.last(RecordKind::kError)->v[1], code);
    // It is about all of them.
    CHECK_EQ(out.last(RecordKind::kError)->id, -1);
    uint64_t used = 0;
    CHECK(!backend.usedBytes(used));
  }
}

TEST("a device that does not answer is read at growing intervals, and its return is reported with the time it was gone") {
  Scenario scenario(std::string(kTwo) + "error 60 1 10\nerror 260 1 0\n");
  NvmlBackend backend(library());
  backend.probe();
  Capture out;
  const uint64_t begin = monotonicNs();
  for (int i = 0; i < 80; ++i) {
    backend.sample(monotonicNs() - begin, out);
    sleepMs(5);
  }
  CHECK_EQ(eventsOf(out, DeviceEvent::kRecovered), 1);
  const Record* back = out.last(RecordKind::kDeviceEvent);
  CHECK_EQ(back->id, 1);
  CHECK(back->v[1] > 150 * kMillisecond && back->v[1] < 600 * kMillisecond);
  // Tries at once, then after 20, 40, 80, 160 ms: five at most, and only the first, second and fourth are written.
  CHECK(out.count(RecordKind::kError) >= 2 && out.count(RecordKind::kError) <= 3);
  CHECK(out.last(RecordKind::kDevice, 1)->timeNs > back->timeNs - 1);
  CHECK(out.last(RecordKind::kDevice, 0) != nullptr);
}

TEST("a GPU that is lost in mid-run ends with one record, whether memory or the process list reports it") {
  for (const char* where : {"memory", "processes"}) {
    Scenario scenario(std::string(kTwo) + "error 60 0 15 " + where + "\n");
    NvmlBackend backend(library());
    backend.probe();
    Capture out;
    backend.sample(1, out);
    backend.sampleProcesses(1, out);
    sleepMs(80);
    for (uint64_t i = 2; i < 12; ++i) {
      backend.sampleProcesses(i, out);
      backend.sample(i, out);
    }
    CHECK_EQ(out.count(RecordKind::kError), 1);
    CHECK_EQ(out.last(RecordKind::kError)->v[1], 15);
    CHECK_EQ(out.last(RecordKind::kDevice, 0)->timeNs, 1);
    CHECK_EQ(out.last(RecordKind::kDevice, 1)->timeNs, 11);
    CHECK_EQ(out.last(RecordKind::kDeviceList, 1)->timeNs, 11);
  }
}

TEST("another capacity and another number of devices are events") {
  Scenario scenario(std::string(kTwo) + "at 60 0 1000 50 99000\ncount 60 1\n");
  NvmlBackend backend(library());
  backend.probe();
  Capture out;
  backend.sample(1, out);
  backend.sampleProcesses(1, out);
  CHECK_EQ(out.count(RecordKind::kDeviceEvent), 0);
  sleepMs(80);
  for (uint64_t i = 2; i < 5; ++i) {
    backend.sample(i, out);
    backend.sampleProcesses(i, out);
  }
  CHECK_EQ(eventsOf(out, DeviceEvent::kCapacityChanged), 1);
  CHECK_EQ(eventsOf(out, DeviceEvent::kCountChanged), 1);
  for (const Record& record : out.records) {
    if (record.kind != RecordKind::kDeviceEvent) continue;
    const bool capacity = record.v[0] == static_cast<uint64_t>(DeviceEvent::kCapacityChanged);
    CHECK_EQ(record.id, capacity ? 0 : -1);
    CHECK_EQ(record.v[1], capacity ? 99000 : 1);
  }
  // The removed one is reported as lost.
  CHECK_EQ(out.last(RecordKind::kError)->id, 1);
}

TEST("each optional symbol may be missing: what it is for is missing, and nothing else") {
  const std::vector<std::string> optional = {
      "nvmlInitWithFlags", "nvmlShutdown", "nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion", "nvmlDeviceGetCount_v2",
      "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetPciInfo_v3",
      "nvmlDeviceGetPersistenceMode", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetComputeRunningProcesses_v2",
      "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses_v2",
      "nvmlDeviceGetMPSComputeRunningProcesses_v2", "nvmlDeviceGetRunningProcessDetailList", "nvmlDeviceGetMigMode",
      "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetAccountingMode", "nvmlDeviceGetAccountingStats",
      "nvmlDeviceGetAccountingPids", "nvmlEventSetCreate", "nvmlEventSetWait_v2", "nvmlDeviceRegisterEvents", "nvmlDeviceGetRemappedRows",
      "nvmlDeviceGetSupportedEventTypes"};
  Scenario scenario(std::string(kTwo) + "accounting 0 on\nproc 0 0 4242 7000\n");
  for (const std::string& symbol : optional) {
    TempDirectory directory;
    NvmlBackend backend(libraryWithout(directory, {symbol}));
    const SourceReport report = backend.probe();
    if (!report.available) harness::report(__FILE__, __LINE__, symbol + ": " + report.reason);
    Capture out;
    backend.sample(1, out);
    backend.sampleProcesses(1, out);
    backend.finish(2, out);
    CHECK_EQ(out.count(RecordKind::kDevice), 2);
    CHECK_EQ(out.count(RecordKind::kDeviceProcess), 1);
    CHECK_EQ(has(backend.devices()[0], "memory:v2"), symbol != "nvmlDeviceGetMemoryInfo_v2");
    CHECK_EQ(has(backend.devices()[0], "accounting"), symbol.find("AccountingMode") == std::string::npos && symbol.find("AccountingStats") == std::string::npos);
    const bool events = symbol.find("EventSetCreate") == std::string::npos && symbol != "nvmlDeviceRegisterEvents";
    CHECK_EQ(backend.watches(), events);
    CHECK_EQ(has(backend.devices()[0], "events"), events);
  }
}

TEST("a library that is cut off or no library at all is a reason") {
  TempDirectory directory;
  Scenario scenario(kTwo);
  directory.write("cut-off.so", "not a library");
  CHECK(NvmlBackend(directory / "cut-off.so").probe().reason.find("cannot be loaded") != std::string::npos);
  const SourceReport blind = NvmlBackend(libraryWithout(directory, {"nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo_v2"})).probe();
  CHECK(blind.reason.find("cannot read memory") != std::string::npos);
}
