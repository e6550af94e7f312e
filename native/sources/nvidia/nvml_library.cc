#include "nvml_library.h"

#include <dlfcn.h>
#include <pthread.h>

#include <climits>
#include <cstdlib>

#if defined(__linux__)
#include "../../support/system_libraries.h"
#endif

namespace stormlog {
namespace {

// The versioned name only: the bare one is the stub of the developer package.
constexpr char kName[] = "libnvidia-ml.so.1";

void load(NvmlLibrary& library, const std::string& place) {
  library.handle = dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL);
  // The error of the first path is the one to report.
  const char* complaint = library.handle == nullptr ? dlerror() : nullptr;
  if (library.reason.empty() && complaint != nullptr) library.reason = complaint;
}

// Directories that the loader does not search: WSL, containers, NixOS.
constexpr const char* kVendorDirectories[] = {"/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/run/opengl-driver/lib"};

void openAsTheLoader(NvmlLibrary& library) {
  load(library, kName);
  for (const char* directory : kVendorDirectories) {
    if (library.handle == nullptr) load(library, std::string(directory) + "/" + kName);
  }
}

#if defined(__linux__)
void openNamed(NvmlLibrary& library, const std::string& path) {
  // The loader would search for a name without a slash, and a relative path leads into the checkout.
  if (path[0] != '/') {
    library.reason = "STORMLOG_GATE_NVML is a relative path";
    return;
  }
  char resolved[PATH_MAX];
  const std::string real = realpath(path.c_str(), resolved) == nullptr ? "" : resolved;
  if (real.empty()) {
    library.reason = path + ": cannot open shared object file: No such file or directory";
  } else if (writtenByOthersOnly(real)) {
    load(library, real);
  } else {
    // Never closed: the loader identifies a library by its path, and a reused number would give the same path.
    const int copy = sealedCopy(real);
    load(library, copy < 0 ? real : "/proc/self/fd/" + std::to_string(copy));
  }
}

void openOfTheSystem(NvmlLibrary& library) {
  for (const std::string& path : systemLibraries(kName, library.reason)) {
    if (library.handle == nullptr) load(library, path);
  }
}
#endif

// Every library requested so far, by the requested path. Never freed.
struct Opened {
  std::string path;
  NvmlLibrary library;
  Opened* next;
};
Opened* opened = nullptr;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

}  // namespace

const NvmlLibrary& nvmlLibrary(const std::string& path, LibrarySearch search) {
  const char* named = getenv("STORMLOG_GATE_NVML");
  const std::string file = !path.empty() ? path : named != nullptr ? named : "";
  pthread_mutex_lock(&mutex);
  Opened* entry = opened;
  while (entry != nullptr && entry->path != file) entry = entry->next;
  if (entry == nullptr) {
    entry = new Opened{file, {}, opened};
#if defined(__linux__)
    const bool system = search == LibrarySearch::kSystem;
    if (system && !file.empty()) openNamed(entry->library, file);
    if (system && file.empty()) openOfTheSystem(entry->library);
#else
    const bool system = false;
    (void)search;
#endif
    if (!system && !file.empty()) load(entry->library, file);
    if (!system && file.empty()) openAsTheLoader(entry->library);
    opened = entry;
  }
  pthread_mutex_unlock(&mutex);
  return entry->library;
}

}  // namespace stormlog
