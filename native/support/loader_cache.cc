#include "loader_cache.h"

namespace stormlog {
namespace {

constexpr char kMagic[] = "glibc-ld.so.cache1.1";
constexpr size_t kMagicSize = sizeof kMagic - 1;
// Header: magic, u32 number of entries, u32 length of the strings, and 20 bytes that do not matter here.
constexpr size_t kHeaderSize = kMagicSize + 4 + 4 + 20;
// Entry: i32 flags, u32 offset of the name, u32 offset of the path, and 12 bytes. Offsets count from the header.
constexpr size_t kEntrySize = 24;
// "A library of libc 6" with the number of the architecture above it.
#if defined(__x86_64__)
constexpr uint32_t kFlags = 0x0303;
#elif defined(__aarch64__)
constexpr uint32_t kFlags = 0x0a03;
#else
constexpr uint32_t kFlags = 0x0003;
#endif

uint32_t number(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The text at `at`, which must end within the bytes; "" otherwise.
std::string text(const std::string& bytes, size_t at) {
  if (at >= bytes.size()) return "";
  const size_t end = bytes.find('\0', at);
  return end == std::string::npos ? "" : bytes.substr(at, end - at);
}

}  // namespace

std::vector<std::string> loaderCachePaths(const std::string& cache, const std::string& soname) {
  std::vector<std::string> paths;
  // A cache for old programs too has the older format's table in front of this one.
  const size_t base = cache.find(kMagic);
  if (base == std::string::npos || cache.size() - base < kHeaderSize) return paths;
  const size_t entries = number(cache, base + kMagicSize);
  for (size_t i = 0; i < entries; ++i) {
    const size_t at = base + kHeaderSize + i * kEntrySize;
    if (at + kEntrySize > cache.size()) break;
    if (number(cache, at) != kFlags || text(cache, base + number(cache, at + 4)) != soname) continue;
    const std::string path = text(cache, base + number(cache, at + 8));
    if (!path.empty() && path[0] == '/') paths.push_back(path);
  }
  return paths;
}

}  // namespace stormlog
