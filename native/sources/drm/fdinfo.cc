#include "fdinfo.h"

#include <cstring>

#include "../host/procfs.h"

namespace stormlog {
namespace {

struct Text {
  const char* at;
  const char* end;
  size_t size() const { return static_cast<size_t>(end - at); }
  bool is(const char* word) const { return size() == strlen(word) && memcmp(at, word, size()) == 0; }
  bool take(const char* prefix) {
    const size_t length = strlen(prefix);
    if (size() < length || memcmp(at, prefix, length) != 0) return false;
    at += length;
    return true;
  }
};

// "123", "123 KiB", "123 MiB", "123 kB" (old amdgpu, which means KiB).
bool parseBytes(Text value, uint64_t& out) {
  uint64_t number = 0;
  if (!parseNumber(value.at, value.end, number)) return false;
  while (value.at < value.end && *value.at == ' ') ++value.at;
  uint64_t unit = 1;
  if (value.is("KiB") || value.is("kB")) {
    unit = 1024;
  } else if (value.is("MiB")) {
    unit = 1024 * 1024;
  } else if (value.is("GiB")) {
    unit = 1024 * 1024 * 1024;
  } else if (value.size() != 0) {
    return false;
  }
  if (number > UINT64_MAX / 4 / unit) return false;
  out = number * unit;
  return true;
}

// "vram", "vram0", "local1": the card's. "gtt", "system", "system0": the machine's, used by the card. The rest (stolen
// memory set aside by the firmware, doorbells, "cpu") is not counted by any allocator.
FdMemory* memoryOf(FdInfo& info, Text region) {
  if (region.is("gtt") || region.is("system") || region.is("system0")) return &info.host;
  if (!region.take("vram") && !region.take("local")) return nullptr;
  while (region.at < region.end && *region.at >= '0' && *region.at <= '9') ++region.at;
  return region.size() == 0 ? &info.card : nullptr;
}

// "drm-<prefix><region>". "drm-total-cycles-rcs" is a time, not a memory region.
constexpr struct {
  const char* prefix;
  FdSum FdMemory::*sum;
} kSums[] = {{"resident-", &FdMemory::resident}, {"memory-", &FdMemory::memory}, {"total-", &FdMemory::total}};

// amdgpu before Linux 5.19.
constexpr struct {
  const char* key;
  FdMemory FdInfo::*memory;
} kOldSums[] = {{"vram mem", &FdInfo::card}, {"gtt mem", &FdInfo::host}};

void takeAddress(FdInfo& info, Text value) {
  if (value.size() >= sizeof info.pci) return;
  memcpy(info.pci, value.at, value.size());
  info.pci[value.size()] = '\0';
}

// One line; true when it is one that only graphics devices have.
bool takeLine(FdInfo& info, Text key, Text value) {
  uint64_t bytes = 0;
  if (key.take("drm-")) {
    if (key.is("pdev")) {
      takeAddress(info, value);
    } else if (key.is("client-id")) {
      const char* at = value.at;
      info.hasClient = parseNumber(at, value.end, info.client) && at == value.end;
    }
    for (const auto& one : kSums) {
      if (!key.take(one.prefix)) continue;
      FdMemory* memory = memoryOf(info, key);
      if (memory != nullptr && parseBytes(value, bytes)) (memory->*one.sum).add(bytes);
      break;
    }
    return true;
  }
  // amdgpu before Linux 5.19.
  if (key.is("pdev")) {
    takeAddress(info, value);
    return true;
  }
  if (key.is("pasid")) {
    // Later kernels list both, and the client number is more precise.
    if (info.hasClient) return true;
    const char* at = value.at;
    info.hasClient = parseNumber(at, value.end, info.client) && at == value.end;
    return true;
  }
  for (const auto& one : kOldSums) {
    if (!key.is(one.key)) continue;
    if (parseBytes(value, bytes)) (info.*one.memory).memory.add(bytes);
    return true;
  }
  return false;
}

}  // namespace

bool parseFdInfo(const char* text, size_t size, FdInfo& out) {
  out = FdInfo{};
  bool graphics = false;
  const char* end = text + size;
  while (text < end) {
    const char* stop = static_cast<const char*>(memchr(text, '\n', static_cast<size_t>(end - text)));
    if (stop == nullptr) break;
    const char* colon = static_cast<const char*>(memchr(text, ':', static_cast<size_t>(stop - text)));
    if (colon != nullptr) {
      Text value{colon + 1, stop};
      while (value.at < value.end && (*value.at == ' ' || *value.at == '\t')) ++value.at;
      while (value.end > value.at && (value.end[-1] == ' ' || value.end[-1] == '\t' || value.end[-1] == '\r')) --value.end;
      graphics |= takeLine(out, Text{text, colon}, value);
    }
    text = stop + 1;
  }
  return graphics;
}

}  // namespace stormlog
