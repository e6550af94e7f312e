// The C library's own heap counters, looked up at run time.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace stormlog_heap {

// Layouts of glibc's struct mallinfo2 (2.33) and struct mallinfo; headers of older C libraries lack the former.
struct WideInfo {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct NarrowInfo {
  int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

class HeapNumbers {
 public:
  // `allocator`: the malloc that serves the program.
  void find(const void* allocator = definitionOfMalloc()) {
    name_ = "none:malloc is not the C library's";
    void* wide = dlsym(RTLD_DEFAULT, "mallinfo2");
    void* narrow = dlsym(RTLD_DEFAULT, "mallinfo");
    // For tests on a C library that has both.
    const char* asked = getenv("STORMLOG_GATE_HEAP_SOURCE");
    if (asked != nullptr && strcmp(asked, "mallinfo") == 0) wide = nullptr;
    if (wide == nullptr && narrow == nullptr) name_ = "none:the C library has no mallinfo";
    // Where another library replaces malloc, these would describe an unused heap.
    if (wide != nullptr && isBeside(wide, allocator)) {
      memcpy(&wide_, &wide, sizeof wide_);
      name_ = "mallinfo2";
    } else if (narrow != nullptr && isBeside(narrow, allocator)) {
      memcpy(&narrow_, &narrow, sizeof narrow_);
      pageSize_ = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
      name_ = "mallinfo";
    }
  }

  bool readable() const { return wide_ != nullptr || narrow_ != nullptr; }

  // "mallinfo2", "mallinfo" or "none:<reason>".
  const char* name() const { return name_; }

  // Bytes in use by the program, and bytes taken from the kernel. False when they are not known.
  bool read(uint64_t& allocated, uint64_t& reserved) const {
    if (wide_ != nullptr) {
      const WideInfo info = wide_();
      allocated = static_cast<uint64_t>(info.uordblks) + info.hblkhd;
      reserved = static_cast<uint64_t>(info.arena) + info.hblkhd;
      return true;
    }
    if (narrow_ == nullptr || mayWrap()) return false;
    const NarrowInfo info = narrow_();
    const auto wide = [](int value) { return static_cast<uint64_t>(static_cast<uint32_t>(value)); };
    allocated = wide(info.uordblks) + wide(info.hblkhd);
    reserved = wide(info.arena) + wide(info.hblkhd);
    return true;
  }

 private:
  // The malloc that the program calls. In a non-PIE program that takes the address of malloc, the program's own symbol
  // is an undefined PLT entry, and the definition is the next one.
  static void* definitionOfMalloc() {
    void* found = dlsym(RTLD_DEFAULT, "malloc");
    Dl_info info{};
    void* entry = nullptr;
    if (found == nullptr || dladdr1(found, &info, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr) return found;
    return static_cast<const ElfW(Sym)*>(entry)->st_shndx == SHN_UNDEF ? dlsym(RTLD_NEXT, "malloc") : found;
  }

  static bool isBeside(const void* function, const void* allocator) {
    Dl_info ours{};
    Dl_info theirs{};
    return allocator != nullptr && dladdr(function, &ours) != 0 && dladdr(allocator, &theirs) != 0 && ours.dli_fbase == theirs.dli_fbase;
  }

  // 32-bit counters show their true value only while no more than that is mapped at all: the sixth number of statm,
  // pages of data.
  bool mayWrap() const {
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true;
    char text[128];
    const ssize_t n = ::read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return true;
    text[n] = '\0';
    const char* at = text;
    for (int skipped = 0; skipped < 5 && at != nullptr; ++skipped) {
      at = strchr(at, ' ');
      if (at != nullptr) ++at;
    }
    if (at == nullptr || *at < '0' || *at > '9') return true;
    uint64_t pages = 0;
    while (*at >= '0' && *at <= '9') pages = pages * 10 + static_cast<uint64_t>(*at++ - '0');
    return pages > UINT32_MAX / pageSize_;
  }

  WideInfo (*wide_)() = nullptr;
  NarrowInfo (*narrow_)() = nullptr;
  uint64_t pageSize_ = 4096;
  const char* name_ = "none:not looked for";
};

}  // namespace stormlog_heap
