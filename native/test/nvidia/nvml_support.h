// Tests of NVIDIA's backend: a scenario for the fake library, and copies of it that lack symbols.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../../sources/nvidia/nvml.h"
#include "../support.h"

namespace testing_support {

struct Scenario {
  explicit Scenario(const std::string& text) { set(text); }
  void set(const std::string& text) {
    directory.write("scenario", text);
    setenv("FAKE_NVML_SCENARIO", (directory / "scenario").c_str(), 1);
  }
  TempDirectory directory;
};

inline std::string library(const char* variant = "full") { return built(std::string(variant) + "/libnvidia-ml.so.1"); }

// A copy of the fake library without these symbols: their names are overwritten in its string table.
inline std::string libraryWithout(const TempDirectory& directory, const std::vector<std::string>& symbols) {
  std::string bytes;
  FILE* file = std::fopen(library().c_str(), "r");
  char chunk[65536];
  for (size_t n = std::fread(chunk, 1, sizeof chunk, file); n > 0; n = std::fread(chunk, 1, sizeof chunk, file)) bytes.append(chunk, n);
  std::fclose(file);
  for (const std::string& symbol : symbols) {
    const std::string name = std::string(1, '\0') + symbol + std::string(1, '\0');
    for (size_t at = bytes.find(name); at != std::string::npos; at = bytes.find(name, at + 1)) bytes[at + 1] = '-';
  }
  directory.write("libnvidia-ml.so.1", bytes);
  return directory / "libnvidia-ml.so.1";
}

inline bool has(const std::vector<std::string>& capabilities, const std::string& wanted) {
  for (const std::string& each : capabilities) {
    if (each == wanted) return true;
  }
  return false;
}

inline bool has(const stormlog::SourceReport& report, const std::string& wanted) { return has(report.capabilities, wanted); }
inline bool has(const stormlog::DeviceReport& report, const std::string& wanted) { return has(report.capabilities, wanted); }

// The entries of process lists that were read for a device at `timeNs`.
inline std::vector<Record> entriesOf(const Capture& out, int device, uint64_t timeNs) {
  std::vector<Record> found;
  for (const Record& record : out.records) {
    if (record.kind == RecordKind::kDeviceProcess && record.timeNs == timeNs && record.v[1] == static_cast<uint64_t>(device)) {
      found.push_back(record);
    }
  }
  return found;
}

inline size_t eventsOf(const Capture& out, stormlog::DeviceEvent event) {
  size_t n = 0;
  for (const Record& record : out.records) {
    n += record.kind == RecordKind::kDeviceEvent && record.v[0] == static_cast<uint64_t>(event) ? 1 : 0;
  }
  return n;
}

// How often the library's functions with such a name were called, from the file that a scenario's `calls` names. It is
// written at the last shutdown.
inline long callsOf(const std::string& path, const std::string& namePart) {
  long sum = 0;
  FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return -1;
  char name[128];
  long pid = 0;
  long count = 0;
  while (std::fscanf(file, "%ld %127s %ld", &pid, name, &count) == 3) {
    if (std::string(name).find(namePart) != std::string::npos) sum += count;
  }
  std::fclose(file);
  return sum;
}

inline std::unique_ptr<stormlog::DeviceBackend> nvmlBackend(const std::string& path = library()) {
  return std::unique_ptr<stormlog::DeviceBackend>(new stormlog::NvmlBackend(path));
}

}  // namespace testing_support
