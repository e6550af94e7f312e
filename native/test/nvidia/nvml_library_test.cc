// Where NVIDIA's library is loaded from, and which files are rejected.
#include <sys/mman.h>
#include <sys/wait.h>

#include "../../sources/nvidia/nvml_library.h"
#include "../../support/system_libraries.h"
#include "../harness.h"
#include "../support.h"

using namespace stormlog;
using namespace testing_support;

namespace {

std::string number(uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); }

struct CacheEntry {
  uint32_t flags;
  std::string name;
  std::string path;
};

#if defined(__aarch64__)
constexpr uint32_t kOwnFlags = 0x0a03;
#else
constexpr uint32_t kOwnFlags = 0x0303;
#endif

std::string cacheOf(const std::vector<CacheEntry>& entries, const std::string& before = "") {
  const size_t strings = 20 + 28 + entries.size() * 24;
  std::string text;
  std::string table;
  for (const CacheEntry& entry : entries) {
    const auto at = [&](const std::string& value) {
      const uint32_t offset = static_cast<uint32_t>(strings + text.size());
      text += value + std::string(1, '\0');
      return number(offset);
    };
    table += number(entry.flags) + at(entry.name) + at(entry.path) + std::string(12, '\0');
  }
  const std::string sizes = number(static_cast<uint32_t>(entries.size())) + number(static_cast<uint32_t>(text.size()));
  return before + "glibc-ld.so.cache1.1" + sizes + std::string(20, '\0') + table + text;
}

// The result of `work` in a process of its own, as another user where this one is root.
int inOtherProcess(int (*work)(const std::string&), const std::string& path) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(99);
    _exit(work(path));
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST("the loader's cache lists the libraries of this machine's architecture by name") {
  const std::vector<CacheEntry> entries = {
      {0x0008, "libnvidia-ml.so.1", "/usr/lib32/libnvidia-ml.so.1"},
      {kOwnFlags, "libnvidia-ml.so.1", "/usr/lib/x/libnvidia-ml.so.1"},
      {kOwnFlags, "libnvidia-ml.so", "/usr/lib/x/libnvidia-ml.so"},
      {kOwnFlags, "libnvidia-ml.so.1", "relative/libnvidia-ml.so.1"},
      {kOwnFlags, "libnvidia-ml.so.1", "/opt/libnvidia-ml.so.1"},
  };
  for (const char* before : {"", "ld.so-1.7.0 and the older table"}) {
    const std::vector<std::string> found = loaderCachePaths(cacheOf(entries, before), "libnvidia-ml.so.1");
    CHECK_EQ(found.size(), 2u);
    if (found.size() == 2) CHECK(found[0] == "/usr/lib/x/libnvidia-ml.so.1" && found[1] == "/opt/libnvidia-ml.so.1");
  }
}

TEST("this machine's own cache has the C library, where it has a cache") {
  const std::string cache = contentOf("/etc/ld.so.cache");
  if (!cache.empty()) CHECK(!loaderCachePaths(cache, "libc.so.6").empty());
}

TEST("a damaged cache of any length gives paths of the cache or none") {
  const std::string whole = cacheOf({{kOwnFlags, "libnvidia-ml.so.1", "/a"}, {kOwnFlags, "libnvidia-ml.so.1", "/b"}});
  for (size_t size = 0; size <= whole.size(); ++size) {
    for (const std::string& path : loaderCachePaths(whole.substr(0, size), "libnvidia-ml.so.1")) CHECK(path == "/a" || path == "/b");
  }
  uint32_t random = 1;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 4; ++i) {
      random = random * 1664525 + 1013904223;
      bytes[random % bytes.size()] = static_cast<char>(random >> 24);
    }
    loaderCachePaths(bytes, "libnvidia-ml.so.1");
  }
}

TEST("the services for hosts and users are those of the configuration, once each, without actions and comments") {
  const std::vector<std::string> found = nameServices(
      "# hosts: comment\npasswd:\tfiles systemd\nhosts: files mdns4_minimal [NOTFOUND=return !UNAVAIL=return] dns # mdns4\n"
      "shadow: other\ngroup: files ../../evil systemd\nhosts:");
  const char* const expected[] = {"files", "dns", "systemd", "mdns4_minimal"};
  CHECK_EQ(found.size(), 4u);
  for (size_t i = 0; i < found.size() && i < 4; ++i) CHECK(found[i] == expected[i]);
  CHECK_EQ(nameServices("").size(), 2u);
  CHECK_EQ(nameServices("hosts").size(), 2u);
  CHECK_EQ(nameServices("hosts:[[[ ]dns").size(), 2u);
}

TEST("a library of the system is found whatever LD_LIBRARY_PATH names, and a missing one has a reason") {
  std::string reason;
  const std::vector<std::string> found = systemLibraries("libc.so.6", reason);
  CHECK(!found.empty() && found[0][0] == '/' && reason.empty());
  CHECK(systemLibraries("libstormlog-none.so.1", reason).empty());
  CHECK(reason.find("neither in the loader's cache") != std::string::npos);
}

TEST("a file is written by others only when this user can change neither it nor a directory above it") {
  CHECK_EQ(inOtherProcess([](const std::string&) { return writtenByOthersOnly("/etc/passwd") ? 1 : 0; }, ""), 1);
  const TempDirectory directory;
  directory.write("file", "x");
  directory.write("own/file", "x");
  chmod(directory.path().c_str(), 0755);
  const auto others = [](const std::string& path) { return writtenByOthersOnly(path) ? 1 : 0; };
  if (geteuid() == 0) {
    CHECK_EQ(inOtherProcess(others, directory / "file"), 1);
    // Writable for all; owned by the user, though read-only; in a directory that the user can write.
    chmod((directory / "file").c_str(), 0666);
    CHECK_EQ(inOtherProcess(others, directory / "file"), 0);
    chmod((directory / "file").c_str(), 0444);
    CHECK_EQ(chown((directory / "file").c_str(), 65534, 0), 0);
    CHECK_EQ(inOtherProcess(others, directory / "file"), 0);
    chmod((directory / "own").c_str(), 0777);
    CHECK_EQ(inOtherProcess(others, directory / "own/file"), 0);
  } else {
    CHECK_EQ(inOtherProcess(others, directory / "file"), 0);
  }
  CHECK_EQ(inOtherProcess(others, directory / "missing"), 0);
}

TEST("a sealed copy has the file's bytes and cannot be written") {
  const TempDirectory directory;
  directory.write("file", "library");
  const int copy = sealedCopy(directory / "file");
  CHECK(copy >= 0);
  char text[16] = "";
  CHECK_EQ(pread(copy, text, sizeof text, 0), 7);
  CHECK(std::string(text) == "library");
  CHECK_EQ(pwrite(copy, "L", 1, 0), -1);
  CHECK_EQ(ftruncate(copy, 0), -1);
  CHECK(mmap(nullptr, 1, PROT_WRITE, MAP_SHARED, copy, 0) == MAP_FAILED);
  close(copy);
  CHECK_EQ(sealedCopy(directory / "missing"), -1);
  // Never waits for a writer.
  mkfifo((directory / "fifo").c_str(), 0644);
  CHECK_EQ(sealedCopy(directory / "fifo"), -1);
}

TEST("a library is opened once: what its path holds later is not loaded, and a missing one stays missing") {
  const TempDirectory directory;
  const std::string path = directory / "libnvidia-ml.so.1";
  CHECK(nvmlLibrary(path).handle == nullptr);
  CHECK_EQ(std::system(("cp '" + built("full/libnvidia-ml.so.1") + "' '" + path + "'").c_str()), 0);
  CHECK(nvmlLibrary(path).handle == nullptr);
  const std::string other = directory / "other.so";
  CHECK_EQ(std::system(("cp '" + path + "' '" + other + "'").c_str()), 0);
  void* const handle = nvmlLibrary(other).handle;
  CHECK(handle != nullptr);
  CHECK_EQ(unlink(other.c_str()), 0);
  CHECK(nvmlLibrary(other).handle == handle);
}

TEST("for a system's library a relative name is refused and a user's own file is loaded from a copy") {
  const auto relative = [](const std::string&) {
    return nvmlLibrary("libnvidia-ml.so.1", LibrarySearch::kSystem).reason.find("relative path") != std::string::npos ? 1 : 0;
  };
  CHECK_EQ(inOtherProcess(relative, ""), 1);
  const TempDirectory directory;
  CHECK_EQ(std::system(("cp '" + built("full/libnvidia-ml.so.1") + "' '" + directory.path() + "/own.so' && chmod -R a+rwX '" + directory.path() + "'").c_str()), 0);
  const auto copied = [](const std::string& path) {
    if (nvmlLibrary(path, LibrarySearch::kSystem).handle == nullptr) return 2;
    FILE* maps = std::fopen("/proc/self/maps", "r");
    char line[4096];
    bool byPath = false;
    bool byCopy = false;
    while (std::fgets(line, sizeof line, maps) != nullptr) {
      byPath |= std::strstr(line, path.c_str()) != nullptr;
      byCopy |= std::strstr(line, "memfd:stormlog-library") != nullptr;
    }
    std::fclose(maps);
    return byCopy && !byPath ? 1 : 0;
  };
  CHECK_EQ(inOtherProcess(copied, directory / "own.so"), 1);
}
