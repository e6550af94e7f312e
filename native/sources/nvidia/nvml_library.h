// NVIDIA's management library, opened once and kept for the life of the process: a file that the measured command
// leaves behind is never searched for, and the library's code is never read from its path again.
#pragma once

#include <string>

namespace stormlog {

enum class LibrarySearch {
  // As the dynamic loader searches, LD_LIBRARY_PATH included, as users of clusters expect.
  kLoader,
  // The loader's cache and the vendor's usual directories, without files that this user could have written. A file
  // that STORMLOG_GATE_NVML names may be this user's own: it is loaded from a sealed copy in memory.
  kSystem,
};

struct NvmlLibrary {
  // Null when it cannot be loaded.
  void* handle = nullptr;
  std::string reason;
};

// The library at `path`, or the usual one: that of STORMLOG_GATE_NVML alone when set, else as `search` finds it. The
// first call decides; later ones for the same path return its result, whatever the file system then contains.
const NvmlLibrary& nvmlLibrary(const std::string& path, LibrarySearch search = LibrarySearch::kLoader);

}  // namespace stormlog
