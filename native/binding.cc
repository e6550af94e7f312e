// The sampler's JavaScript API: checks arguments, calls the core and converts structs to objects. A handle is a number.
// Any other value is rejected, so no call from JavaScript can reach memory that is not a sampler.
#define NAPI_VERSION 8
#include <napi.h>

#include <cerrno>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "devices/device_backends.h"
#include "orphans_binding.h"
#include "records_binding.h"
#include "sampler.h"
#include "sources/host/cgroup_source.h"
#include "sources/nvidia/nvml_library.h"
#include "support/clock.h"
#include "support/errno_name.h"

#if defined(__linux__)
#include <sys/prctl.h>

#include "support/system_libraries.h"
#endif
#include <unistd.h>

namespace {

using stormlog::DeviceReport;
using stormlog::LiveValues;
using stormlog::Sampler;
using stormlog::SamplerOptions;
using stormlog::SamplerStats;
using stormlog::SourceReport;

// One per JavaScript environment (main thread or worker). Its destructor stops the samplers that still run at
// environment teardown.
struct Instance {
  // A sampler's handle is its index + 1. Stopped samplers stay, for their statistics.
  std::vector<std::unique_ptr<Sampler>> samplers;
};

void throwCoded(Napi::Env env, const char* code, const std::string& message) {
  Napi::Error error = Napi::Error::New(env, message);
  error.Set("code", Napi::String::New(env, code));
  error.ThrowAsJavaScriptException();
}

void throwInvalid(Napi::Env env, const std::string& message) { throwCoded(env, "ERR_INVALID_ARG_VALUE", "stormlog sampler: " + message); }

// Reads options one by one; after the first wrong one `ok()` is false and a JavaScript exception is pending.
class OptionReader {
 public:
  OptionReader(Napi::Env env, Napi::Value value) : env_(env) {
    if (value.IsObject()) {
      object_ = value.As<Napi::Object>();
    } else {
      fail("options must be an object");
    }
  }

  bool ok() const { return ok_; }

  void text(const char* name, std::string& out, bool required) {
    const Napi::Value value = get(name);
    if (!ok_ || (!required && (value.IsUndefined() || value.IsNull()))) return;
    if (!value.IsString()) return fail(std::string(name) + " must be a string");
    out = value.As<Napi::String>().Utf8Value();
    if (out.find('\0') != std::string::npos) return fail(std::string(name) + " must not hold a NUL");
    if (required && out.empty()) fail(std::string(name) + " must not be empty");
  }

  void number(const char* name, double lowest, double highest, double& out, bool nullable) {
    const Napi::Value value = get(name);
    if (!ok_ || (nullable && (value.IsUndefined() || value.IsNull()))) return;
    const double given = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
    // Written so that NaN fails too.
    if (!(given >= lowest && given <= highest)) {
      return fail(std::string(name) + " must be a number from " + std::to_string(static_cast<long long>(lowest)) + " to " +
                  std::to_string(static_cast<long long>(highest)));
    }
    out = given;
  }

  void flag(const char* name, bool& out) {
    const Napi::Value value = get(name);
    if (!ok_ || value.IsUndefined()) return;
    if (!value.IsBoolean()) return fail(std::string(name) + " must be a boolean");
    out = value.As<Napi::Boolean>().Value();
  }

  void fail(const std::string& message) {
    if (ok_) throwInvalid(env_, message);
    ok_ = false;
  }

 private:
  Napi::Value get(const char* name) {
    if (!ok_) return Napi::Value();
    const Napi::Value value = object_.Get(name);
    // A throwing getter.
    if (env_.IsExceptionPending()) ok_ = false;
    return value;
  }

  Napi::Env env_;
  Napi::Object object_;
  bool ok_ = true;
};

Napi::Value stringOrNull(Napi::Env env, const std::string& text) {
  return text.empty() ? env.Null() : Napi::Value(Napi::String::New(env, text));
}

Napi::Array textsToJs(Napi::Env env, const std::vector<std::string>& texts) {
  Napi::Array list = Napi::Array::New(env, texts.size());
  for (uint32_t i = 0; i < texts.size(); ++i) list.Set(i, texts[i]);
  return list;
}

Napi::Array sourcesToJs(Napi::Env env, const std::vector<SourceReport>& sources) {
  Napi::Array list = Napi::Array::New(env, sources.size());
  for (uint32_t i = 0; i < sources.size(); ++i) {
    Napi::Object row = Napi::Object::New(env);
    row.Set("name", sources[i].name);
    row.Set("available", Napi::Boolean::New(env, sources[i].available));
    row.Set("reason", stringOrNull(env, sources[i].reason));
    row.Set("capabilities", textsToJs(env, sources[i].capabilities));
    list.Set(i, row);
  }
  return list;
}

Napi::Value number(Napi::Env env, uint64_t value) { return Napi::Number::New(env, static_cast<double>(value)); }

Napi::Value processListToJs(Napi::Env env, const DeviceReport& device) {
  if (device.listEntries < 0) return env.Null();
  Napi::Object row = Napi::Object::New(env);
  row.Set("entries", Napi::Number::New(env, device.listEntries));
  row.Set("unknown_memory", Napi::Number::New(env, device.listUnknown));
  return row;
}

Napi::Array devicesToJs(Napi::Env env, const std::vector<DeviceReport>& devices) {
  Napi::Array list = Napi::Array::New(env, devices.size());
  for (uint32_t i = 0; i < devices.size(); ++i) {
    const DeviceReport& device = devices[i];
    Napi::Object row = Napi::Object::New(env);
    row.Set("index", Napi::Number::New(env, device.index));
    row.Set("name", device.name);
    row.Set("model", stringOrNull(env, device.model));
    row.Set("uuid", stringOrNull(env, device.uuid));
    row.Set("total_bytes", device.totalBytes == 0 ? env.Null() : number(env, device.totalBytes));
    row.Set("driver", stringOrNull(env, device.driver));
    if (!device.backend.empty()) row.Set("backend", device.backend);
    row.Set("pci_bus_id", stringOrNull(env, device.pciBusId));
    row.Set("parent", device.parent < 0 ? env.Null() : Napi::Value(Napi::Number::New(env, device.parent)));
    row.Set("mig_profile", stringOrNull(env, device.migProfile));
    row.Set("unified", Napi::Boolean::New(env, device.unified));
    row.Set("capabilities", textsToJs(env, device.capabilities));
    row.Set("reason", stringOrNull(env, device.reason));
    row.Set("process_list", processListToJs(env, device));
    list.Set(i, row);
  }
  return list;
}

Napi::Value start(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  SamplerOptions options;
  OptionReader reader(env, info[0]);
  double rootPid = 0;
  double hostPeriod = static_cast<double>(options.hostPeriodNs);
  double devicePeriod = static_cast<double>(options.devicePeriodNs);
  double budget = -1;
  constexpr double kMin = static_cast<double>(stormlog::kMinPeriodNs);
  constexpr double kMax = static_cast<double>(stormlog::kMaxPeriodNs);
  reader.text("file", options.file, true);
  reader.number("rootPid", 1, INT32_MAX, rootPid, false);
  reader.flag("includeRoot", options.includeRoot);
  reader.number("hostPeriodNs", kMin, kMax, hostPeriod, false);
  reader.number("devicePeriodNs", kMin, kMax, devicePeriod, false);
  reader.number("cpuBudget", 0, 64, budget, true);
  reader.text("marker", options.marker, false);
  reader.text("ignore", options.ignore, false);
  reader.text("probeDirectory", options.probeDirectory, false);
  reader.text("procRoot", options.procRoot, false);
  reader.text("sysRoot", options.sysRoot, false);
  reader.text("nvmlPath", options.nvmlPath, false);
  const size_t equals = options.marker.find('=');
  if (!options.marker.empty() && (equals == std::string::npos || equals == 0)) reader.fail("marker must have the form NAME=value");
  if (!reader.ok()) return env.Undefined();
  options.rootPid = static_cast<int>(rootPid);
  options.hostPeriodNs = static_cast<uint64_t>(hostPeriod);
  options.devicePeriodNs = static_cast<uint64_t>(devicePeriod);
  options.cpuBudget = budget;
  std::unique_ptr<Sampler> sampler(new Sampler(options));
  const int error = sampler->start();
  if (error != 0) {
    throwCoded(env, stormlog::errnoName(error),
               "stormlog sampler: cannot start recording to " + options.file + ": " + stormlog::errnoText(error));
    return env.Undefined();
  }
  Instance* instance = env.GetInstanceData<Instance>();
  instance->samplers.push_back(static_cast<std::unique_ptr<Sampler>&&>(sampler));
  return number(env, instance->samplers.size());
}

// The sampler of a handle; null with a pending exception for anything else.
Sampler* samplerOf(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info[0].IsNumber()) {
    const double given = info[0].As<Napi::Number>().DoubleValue();
    Instance* instance = env.GetInstanceData<Instance>();
    if (given >= 1 && given <= static_cast<double>(instance->samplers.size())) {
      return instance->samplers[static_cast<size_t>(given) - 1].get();
    }
  }
  throwInvalid(env, "this is not the handle of a sampler started here");
  return nullptr;
}

Napi::Value live(const Napi::CallbackInfo& info) {
  const Sampler* sampler = samplerOf(info);
  if (sampler == nullptr) return info.Env().Undefined();
  Napi::Float64Array values = Napi::Float64Array::New(info.Env(), LiveValues::kCount);
  sampler->live(values.Data());
  return values;
}

Napi::Value stop(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Sampler* sampler = samplerOf(info);
  if (sampler == nullptr) return env.Undefined();
  const SamplerStats stats = sampler->stop();
  Napi::Object result = Napi::Object::New(env);
  result.Set("ticks", number(env, stats.ticks));
  result.Set("missedTicks", number(env, stats.missedTicks));
  result.Set("deviceTicks", number(env, stats.deviceTicks));
  result.Set("durationNs", number(env, stats.durationNs));
  result.Set("hostPeriodNs", number(env, stats.hostPeriodNs));
  result.Set("devicePeriodNs", number(env, stats.devicePeriodNs));
  result.Set("cpuNs", number(env, stats.cpuNs));
  std::string error;
  if (stats.writeError != 0) error = std::string(stormlog::errnoName(stats.writeError)) + ": " + stormlog::errnoText(stats.writeError);
  result.Set("writeError", stringOrNull(env, error));
  Napi::Array workers = Napi::Array::New(env, stats.workers.size());
  for (uint32_t i = 0; i < stats.workers.size(); ++i) {
    const stormlog::DeviceWorkerStats& worker = stats.workers[i];
    Napi::Object row = Napi::Object::New(env);
    row.Set("name", worker.name);
    row.Set("devices", number(env, worker.devices));
    row.Set("ticks", number(env, worker.ticks));
    row.Set("missedTicks", number(env, worker.missed));
    row.Set("lists", number(env, worker.lists));
    row.Set("periodNs", number(env, worker.periodNs));
    row.Set("cpuNs", number(env, worker.cpuNs));
    row.Set("lostRecords", number(env, worker.lostRecords));
    workers.Set(i, row);
  }
  result.Set("workers", workers);
  return result;
}

// A function of `records_binding.h` with the records of a sampler, which is stopped.
template <Napi::Value (*kOf)(const Napi::CallbackInfo&, stormlog::RecordWriter&)>
Napi::Value ofRecords(const Napi::CallbackInfo& info) {
  Sampler* sampler = samplerOf(info);
  if (sampler == nullptr) return info.Env().Undefined();
  sampler->stop();
  return kOf(info, sampler->records());
}

Napi::Value describe(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Sampler* sampler = samplerOf(info);
  if (sampler == nullptr) return env.Undefined();
  Napi::Object result = Napi::Object::New(env);
  result.Set("monotonicStartNs", Napi::BigInt::New(env, sampler->monotonicStartNs()));
  result.Set("epochNs", Napi::BigInt::New(env, sampler->epochNs()));
  result.Set("sources", sourcesToJs(env, sampler->sources()));
  result.Set("devices", devicesToJs(env, sampler->devices()));
  return result;
}

// Probes and reads every backend once, each in its own thread, all within `timeoutNs`.
void probeDevices(const stormlog::BackendOptions& options, uint64_t timeoutNs, std::vector<SourceReport>& sources,
                  std::vector<DeviceReport>& devices) {
  stormlog::DeviceOptions once;
  once.probeOnly = true;
  once.timeZeroNs = stormlog::monotonicNs();
  once.periodNs = stormlog::kMaxPeriodNs;
  std::vector<std::unique_ptr<stormlog::DeviceWorker>> workers;
  for (stormlog::NamedBackend& each : stormlog::createDeviceBackends(options)) {
    workers.emplace_back(
        new stormlog::DeviceWorker(each.name, static_cast<std::unique_ptr<stormlog::DeviceBackend>&&>(each.backend), once));
    workers.back()->start();
  }
  for (const auto& worker : workers) {
    worker->waitReady(once.timeZeroNs + timeoutNs);
    sources.push_back(worker->report());
    for (const DeviceReport& device : worker->devices()) devices.push_back(device);
  }
}

Napi::Value probe(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  stormlog::HostOptions host;
  stormlog::BackendOptions backends;
  host.rootPid = static_cast<int>(getpid());
  double timeoutMs = 5000;
  if (info.Length() > 0 && !info[0].IsUndefined()) {
    OptionReader reader(env, info[0]);
    double rootPid = host.rootPid;
    reader.text("procRoot", host.procRoot, false);
    reader.text("sysRoot", backends.sysRoot, false);
    reader.text("nvmlPath", backends.nvmlPath, false);
    reader.number("rootPid", 1, INT32_MAX, rootPid, true);
    reader.number("timeoutMs", 0, 600000, timeoutMs, true);
    if (!reader.ok()) return env.Undefined();
    host.rootPid = static_cast<int>(rootPid);
  }
  backends.procRoot = host.procRoot;
  std::vector<SourceReport> sources;
  std::vector<DeviceReport> devices;
  const std::unique_ptr<stormlog::HostSource> hostSource = stormlog::HostSource::create(host);
  sources.push_back(hostSource->probe());
  sources.push_back(stormlog::createCgroupSource(host.procRoot, host.rootPid, nullptr)->probe());
  const std::unique_ptr<stormlog::DeviceBackend> shared = stormlog::createSharedMemory(host.procRoot, host.rootPid);
  if (shared != nullptr) sources.push_back(shared->probe());
  probeDevices(backends, static_cast<uint64_t>(timeoutMs * 1e6), sources, devices);
  Napi::Object result = Napi::Object::New(env);
  result.Set("sources", sourcesToJs(env, sources));
  result.Set("devices", devicesToJs(env, devices));
  return result;
}

Napi::Value emptyLoop(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const double period = info[0].IsNumber() ? info[0].As<Napi::Number>().DoubleValue() : NAN;
  const double duration = info[1].IsNumber() ? info[1].As<Napi::Number>().DoubleValue() : NAN;
  if (!(period >= 1e4 && period <= 1e9 && duration >= 0 && duration <= 6e11)) {
    throwInvalid(env, "emptyLoop takes a period from 10 us to 1 s and a duration of at most 10 min, both in ns");
    return env.Undefined();
  }
  const stormlog::EmptyLoopResult loop = stormlog::runEmptyLoop(static_cast<uint64_t>(period), static_cast<uint64_t>(duration));
  Napi::Object result = Napi::Object::New(env);
  result.Set("ticks", number(env, loop.ticks));
  result.Set("cpuNs", number(env, loop.cpuNs));
  return result;
}

// Whether other processes of this user may look into this one's memory and environment (Linux; elsewhere a no-op).
Napi::Value setDumpable(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsBoolean()) {
    throwInvalid(env, "setDumpable takes a boolean");
    return env.Undefined();
  }
#if defined(__linux__)
  if (prctl(PR_SET_DUMPABLE, info[0].As<Napi::Boolean>().Value() ? 1 : 0, 0, 0, 0) != 0) {
    throwCoded(env, stormlog::errnoName(errno), std::string("stormlog sampler: PR_SET_DUMPABLE: ") + stormlog::errnoText(errno));
  }
#endif
  return env.Undefined();
}

// Opens the system's own copies of the libraries that this process would later search for in LD_LIBRARY_PATH.
Napi::Value openLibraries(const Napi::CallbackInfo& info) {
#if defined(__linux__)
  stormlog::loadNameServices();
#endif
  stormlog::nvmlLibrary("", stormlog::LibrarySearch::kSystem);
  return info.Env().Undefined();
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  env.SetInstanceData(new Instance());
  exports.Set("start", Napi::Function::New<start>(env, "start"));
  exports.Set("live", Napi::Function::New<live>(env, "live"));
  exports.Set("stop", Napi::Function::New<stop>(env, "stop"));
  exports.Set("readRecords", Napi::Function::New<ofRecords<stormlog::readRecords>>(env, "readRecords"));
  exports.Set("checkRecords", Napi::Function::New<ofRecords<stormlog::checkRecords>>(env, "checkRecords"));
  exports.Set("closeRecords", Napi::Function::New<ofRecords<stormlog::closeRecords>>(env, "closeRecords"));
  exports.Set("info", Napi::Function::New<describe>(env, "info"));
  exports.Set("probe", Napi::Function::New<probe>(env, "probe"));
  exports.Set("emptyLoop", Napi::Function::New<emptyLoop>(env, "emptyLoop"));
  exports.Set("adoptOrphans", Napi::Function::New<stormlog::adoptOrphans>(env, "adoptOrphans"));
  exports.Set("reap", Napi::Function::New<stormlog::reap>(env, "reap"));
  exports.Set("setDumpable", Napi::Function::New<setDumpable>(env, "setDumpable"));
  exports.Set("openLibraries", Napi::Function::New<openLibraries>(env, "openLibraries"));
  return exports;
}

NODE_API_MODULE(sampler, init)

}  // namespace
