// Built by the release workflow on an arm64 runner; it was not run where the rest of this project is developed and
// tested.
#include "apple.h"

#include <CoreFoundation/CoreFoundation.h>
#include <IOKit/IOKitLib.h>
#include <sys/sysctl.h>

#include <cerrno>
#include <string>
#include <vector>

#include "../../error_log.h"
#include "apple_numbers.h"

namespace stormlog {
namespace {

// More accelerators than any Mac has.
constexpr size_t kMaxDevices = 8;

// Owner of an object of the I/O registry.
class IoObject {
 public:
  explicit IoObject(io_object_t object) : object_(object) {}
  IoObject(IoObject&& other) noexcept : object_(other.object_) { other.object_ = IO_OBJECT_NULL; }
  IoObject& operator=(IoObject&&) = delete;
  IoObject(const IoObject&) = delete;
  IoObject& operator=(const IoObject&) = delete;
  ~IoObject() {
    if (object_ != IO_OBJECT_NULL) IOObjectRelease(object_);
  }
  io_object_t get() const { return object_; }

 private:
  io_object_t object_;
};

// Owner of a Core Foundation object that was returned under the Create rule.
class CfObject {
 public:
  explicit CfObject(CFTypeRef object) : object_(object) {}
  CfObject(const CfObject&) = delete;
  CfObject& operator=(const CfObject&) = delete;
  ~CfObject() {
    if (object_ != nullptr) CFRelease(object_);
  }
  bool is(CFTypeID type) const { return object_ != nullptr && CFGetTypeID(object_) == type; }
  CFTypeRef get() const { return object_; }

 private:
  CFTypeRef object_;
};

int64_t numberIn(CFDictionaryRef dictionary, CFStringRef key) {
  const CFTypeRef value = CFDictionaryGetValue(dictionary, key);
  int64_t number = -1;
  if (value == nullptr || CFGetTypeID(value) != CFNumberGetTypeID()) return -1;
  return CFNumberGetValue(static_cast<CFNumberRef>(value), kCFNumberSInt64Type, &number) ? number : -1;
}

std::string modelOf(io_registry_entry_t entry) {
  const CfObject value(IORegistryEntrySearchCFProperty(entry, kIOServicePlane, CFSTR("model"), kCFAllocatorDefault,
                                                       kIORegistryIterateRecursively | kIORegistryIterateParents));
  char text[128] = "";
  if (value.is(CFStringGetTypeID())) {
    CFStringGetCString(static_cast<CFStringRef>(value.get()), text, sizeof text, kCFStringEncodingUTF8);
  } else if (value.is(CFDataGetTypeID())) {
    const CFDataRef data = static_cast<CFDataRef>(value.get());
    const CFIndex length = CFDataGetLength(data);
    const CFIndex max = static_cast<CFIndex>(sizeof text) - 1;
    CFDataGetBytes(data, CFRangeMake(0, length < max ? length : max), reinterpret_cast<UInt8*>(text));
  }
  return text;
}

class AppleBackend final : public DeviceBackend {
 public:
  SourceReport probe() override {
    SourceReport report;
    report.name = "apple";
    uint64_t memory = 0;
    size_t size = sizeof memory;
    if (sysctlbyname("hw.memsize", &memory, &size, nullptr, 0) == 0) totalBytes_ = memory;
    io_iterator_t found = IO_OBJECT_NULL;
    // The matching dictionary is consumed by the call.
    if (IOServiceGetMatchingServices(MACH_PORT_NULL, IOServiceMatching("IOAccelerator"), &found) != KERN_SUCCESS) {
      report.reason = "the I/O registry cannot be searched for graphics";
      return report;
    }
    const IoObject iterator(found);
    while (accelerators_.size() < kMaxDevices) {
      const io_object_t next = IOIteratorNext(iterator.get());
      if (next == IO_OBJECT_NULL) break;
      accelerators_.push_back(IoObject(next));
      describe(accelerators_.back().get());
    }
    report.available = !reports_.empty();
    if (!report.available) {
      report.reason = "no graphics is visible";
      return report;
    }
    report.capabilities.push_back("memory");
    return report;
  }

  void sample(uint64_t timeNs, RecordSink& out) override {
    forgetUsed();
    for (size_t i = 0; i < accelerators_.size(); ++i) {
      Record record = recordOf(RecordKind::kDevice, RecordSource::kApple, reports_[i].index, timeNs);
      working(record.id);
      if (!appleRecord(read(accelerators_[i].get()), totalBytes_, record)) {
        errors_.note(out, timeNs, RecordSource::kApple, record.id, ENODATA, 0);
        continue;
      }
      out.push(record);
      addUsed(record.v[0]);
    }
  }

 private:
  // Core Foundation allocates the dictionary. This number cannot be read without it.
  static AppleMemory read(io_registry_entry_t entry) {
    AppleMemory memory;
    const CfObject statistics(IORegistryEntryCreateCFProperty(entry, CFSTR("PerformanceStatistics"), kCFAllocatorDefault, 0));
    if (!statistics.is(CFDictionaryGetTypeID())) return memory;
    const CFDictionaryRef numbers = static_cast<CFDictionaryRef>(statistics.get());
    memory.inUse = numberIn(numbers, CFSTR("In use system memory"));
    memory.allocated = numberIn(numbers, CFSTR("Alloc system memory"));
    return memory;
  }

  void describe(io_registry_entry_t entry) {
    DeviceReport report;
    report.index = kAppleDevices + static_cast<int>(reports_.size());
    report.name = "mps:" + std::to_string(reports_.size());
    report.backend = "apple";
    report.model = modelOf(entry);
    report.unified = true;
    report.totalBytes = totalBytes_;
    io_name_t className = "";
    if (IOObjectGetClass(entry, className) == KERN_SUCCESS) report.driver = className;
    Record ignored;
    if (appleRecord(read(entry), totalBytes_, ignored)) {
      report.capabilities = {"memory", "memory:shared"};
    } else {
      report.reason = "its driver does not report memory";
    }
    if (isParavirtual(className, report.model.c_str())) {
      report.addReason("it is the graphics of a virtual machine, on which PyTorch's MPS backend does not work");
    }
    reports_.push_back(report);
  }

  std::vector<IoObject> accelerators_;
  ErrorLog errors_;
  uint64_t totalBytes_ = 0;
};

}  // namespace

std::unique_ptr<DeviceBackend> createAppleBackend() { return std::unique_ptr<DeviceBackend>(new AppleBackend()); }

}  // namespace stormlog
