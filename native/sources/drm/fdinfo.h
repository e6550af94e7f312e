// What /proc/<pid>/fdinfo/<fd> contains for an open graphics device: the card, the client and its memory. Keys differ
// by driver and kernel; the common ones are described in the kernel's "DRM client usage stats".
#pragma once

#include <cstddef>
#include <cstdint>

namespace stormlog {

// Bytes that one key reports for several regions.
struct FdSum {
  uint64_t bytes = 0;
  bool known = false;

  // Saturates, because a sum of untrusted numbers must not wrap around.
  void add(uint64_t more) {
    bytes = bytes > UINT64_MAX / 2 ? bytes : bytes + more;
    known = true;
  }
};

// Bytes of one kind of memory, as up to three keys count it.
struct FdMemory {
  // "drm-resident-*": backed by memory now. "drm-memory-*" (amdgpu since 5.19) and "vram mem" (before) mean the same.
  FdSum resident;
  FdSum memory;
  // "drm-total-*": also what was pushed out or never touched.
  FdSum total;

  // The best of them; false when none was there.
  bool bytes(uint64_t& out) const {
    const FdSum& best = resident.known ? resident : memory.known ? memory : total;
    out = best.bytes;
    return best.known;
  }
};

struct FdInfo {
  // "0000:03:00.0", or "".
  char pci[24] = "";
  // Two descriptors with the same client of the same card share one account. `hasClient` false: the kernel does not
  // number them.
  uint64_t client = 0;
  bool hasClient = false;
  // On the card itself (vram, vram0, local0, …) and the part of the machine's memory the card uses (gtt, system0, …).
  FdMemory card;
  FdMemory host;
};

// Accepts any bytes; false when they do not describe a graphics client. A last line without a newline is skipped,
// because it may be truncated.
bool parseFdInfo(const char* text, size_t size, FdInfo& out);

}  // namespace stormlog
