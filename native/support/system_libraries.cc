#include "system_libraries.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "unique_fd.h"
#include "whole_io.h"

namespace stormlog {
namespace {

constexpr uint64_t kMaxBytes = 64ULL << 20;

// A raw system call, as below: the wrappers of current C libraries need a newer glibc than this must load on.
bool factsOf(int directory, const char* path, int flags, struct statx& out) {
  return syscall(SYS_statx, directory, path, flags, STATX_TYPE | STATX_MODE | STATX_UID | STATX_SIZE, &out) == 0;
}

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

constexpr char kLoaderCache[] = "/etc/ld.so.cache";
constexpr char kNameServices[] = "/etc/nsswitch.conf";
// The directories of distributions, for machines without the cache, and directories that the loader does not search:
// WSL, containers, NixOS.
constexpr const char* kDirectories[] = {
#if defined(__x86_64__)
    "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu",
#endif
    "/usr/lib64", "/usr/lib", "/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/run/opengl-driver/lib"};

bool isNameOfService(const std::string& word) {
  for (const char c : word) {
    if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  }
  return !word.empty();
}

void addOnce(std::vector<std::string>& all, const std::string& one) {
  for (const std::string& each : all) {
    if (each == one) return;
  }
  all.push_back(one);
}

// The words of "hosts: files [NOTFOUND=return] dns" after the colon, without what is in brackets.
void addServices(const std::string& line, std::vector<std::string>& out) {
  std::string word;
  bool action = false;
  for (size_t at = line.find(':') + 1; at <= line.size(); ++at) {
    const char c = at < line.size() ? line[at] : ' ';
    action = action ? c != ']' : c == '[';
    if (c != ' ' && c != '\t' && c != '[' && c != ']') {
      if (!action) word += c;
      continue;
    }
    if (isNameOfService(word)) addOnce(out, word);
    word.clear();
  }
}

}  // namespace

bool writtenByOthersOnly(const std::string& path) {
  const unsigned user = geteuid();
  if (user == 0) return true;
  std::string at = path;
  for (bool file = true;; file = false) {
    struct statx facts {};
    if (!factsOf(AT_FDCWD, at.c_str(), AT_SYMLINK_NOFOLLOW, facts) || facts.stx_uid == user) return false;
    // In a directory like /tmp every user may add names, and only their owners may replace them.
    const bool sticky = !file && (facts.stx_mode & S_ISVTX) != 0;
    if (!sticky && ::access(at.c_str(), W_OK) == 0) return false;
    if (at == "/") return true;
    const size_t slash = at.rfind('/');
    at = slash == 0 ? "/" : at.substr(0, slash);
  }
}

std::string contentOf(const std::string& path) {
  // Non-blocking, so that opening a FIFO does not wait for its writer.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct statx facts {};
  if (!fd || !factsOf(fd.get(), "", AT_EMPTY_PATH, facts) || !S_ISREG(facts.stx_mode) || facts.stx_size > kMaxBytes) return "";
  std::string bytes(static_cast<size_t>(facts.stx_size), '\0');
  return readWhole(fd.get(), &bytes[0], bytes.size(), 0) == bytes.size() ? bytes : "";
}

int sealedCopy(const std::string& path) {
  const std::string bytes = contentOf(path);
  if (bytes.empty()) return -1;
  UniqueFd copy(static_cast<int>(syscall(SYS_memfd_create, "stormlog-library", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (!copy || writeWhole(copy.get(), bytes.data(), bytes.size()) < bytes.size() || ::fcntl(copy.get(), F_ADD_SEALS, kSeals) != 0) return -1;
  return ::dup(copy.get());
}

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

std::vector<std::string> systemLibraries(const std::string& name, std::string& reason) {
  std::vector<std::string> places = loaderCachePaths(contentOf(kLoaderCache), name);
  for (const char* directory : kDirectories) places.push_back(std::string(directory) + "/" + name);
  std::vector<std::string> found;
  for (const std::string& place : places) {
    char real[PATH_MAX];
    if (realpath(place.c_str(), real) == nullptr) continue;
    if (writtenByOthersOnly(real)) {
      addOnce(found, real);
    } else if (reason.empty()) {
      reason = std::string(real) + " could have been written by this user";
    }
  }
  if (found.empty() && reason.empty()) reason = name + " is neither in the loader's cache nor in a usual directory";
  return found;
}

std::vector<std::string> nameServices(const std::string& configuration) {
  std::vector<std::string> services = {"files", "dns"};
  for (size_t at = 0; at < configuration.size();) {
    size_t end = configuration.find('\n', at);
    if (end == std::string::npos) end = configuration.size();
    const std::string line = configuration.substr(at, end - at);
    at = end + 1;
    const std::string text = line.substr(0, line.find('#'));
    for (const char* database : {"hosts:", "passwd:", "group:"}) {
      if (text.compare(0, std::string(database).size(), database) == 0) addServices(text, services);
    }
  }
  return services;
}

void loadNameServices() {
  for (const std::string& service : nameServices(contentOf(kNameServices))) {
    std::string reason;
    // Newer C libraries have their own services built in.
    const std::vector<std::string> paths = systemLibraries("libnss_" + service + ".so.2", reason);
    if (!paths.empty()) dlopen(paths[0].c_str(), RTLD_LAZY | RTLD_LOCAL);
  }
}

}  // namespace stormlog
