// The call stack of the running thread, by the unwind tables of its modules.
//
// Takes no lock and allocates nothing: modules are found by glibc's `_dl_find_object` (2.35), which is
// async-signal-safe. Reads of the stack stay between its pointer and the end of its mapping. A function without a table
// ends the stack, as code made at run time does.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "unwind.h"

namespace stormlog_heap {

// The kernel's list of mappings. That of the main thread is empty once it ended; before Linux 3.17 it is the only one.
inline int openMaps() {
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/maps", O_RDONLY | O_CLOEXEC));
  return fd >= 0 ? fd : static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC));
}

// End of the mapping that contains `address`, from the kernel's list; 0 when unknown.
inline uintptr_t mappingEnd(uintptr_t address) {
  const int fd = openMaps();
  if (fd < 0) return 0;
  char text[4096];
  // "<start>-<end> …\n": two numbers, then the rest of the line.
  uintptr_t numbers[2] = {0, 0};
  unsigned field = 0;
  uintptr_t found = 0;
  for (long n = 0; found == 0 && (n = syscall(SYS_read, fd, text, sizeof text)) > 0;) {
    for (long i = 0; i < n && found == 0; ++i) {
      const char c = text[i];
      if (c == '\n') {
        numbers[0] = numbers[1] = 0;
        field = 0;
      } else if (field < 2) {
        if (c == '-' || c == ' ') ++field;
        else numbers[field] = numbers[field] * 16 + static_cast<uintptr_t>(c <= '9' ? c - '0' : c - 'a' + 10);
        if (field == 2 && numbers[0] <= address && address < numbers[1]) found = numbers[1];
      }
    }
  }
  syscall(SYS_close, fd);
  return found;
}

// Where the stack of one thread ends. Zero at first.
struct StackBounds {
  // 0 where it is not known.
  uintptr_t end(uintptr_t sp) {
    // A stack grows down, so an address a little below the lowest known one is of the same stack.
    if (known != 0 && sp < known && sp + (1 << 20) > low) {
      if (sp < low) low = sp;
      return known;
    }
    if (lookups >= kMaxLookups) return 0;
    ++lookups;
    known = mappingEnd(sp);
    low = sp;
    return known;
  }

  // A thread whose stack pointer moves between many stacks (coroutines) is no longer walked after so many look-ups.
  static constexpr uint32_t kMaxLookups = 64;
  uintptr_t known;
  uintptr_t low;
  uint32_t lookups;
};

class CallStack {
 public:
  static constexpr unsigned kCached = 8192;

  void begin(FindObject find) { find_ = find; }

  // Return addresses, innermost first, of the frames above `from`; `limit` is the end of the stack's mapping.
  unsigned walk(Registers from, uintptr_t limit, uintptr_t* out, unsigned max) {
    unsigned n = 0;
    Registers r = from;
    uintptr_t lookup = r.pc;
    while (n < max) {
      const Rule rule = ruleAt(lookup);
      if (!rule.usable()) break;
      const uintptr_t cfa = rule.cfa(r);
      const auto inside = [&r, limit](uintptr_t at) { return at % 8 == 0 && at >= r.sp && at <= limit - 8; };
      if (cfa <= r.sp || cfa > limit || !inside(rule.returnAddressAt(cfa)) || (rule.fpSaved() && !inside(rule.fpAt(cfa)))) break;
      r.pc = plain(*reinterpret_cast<const uintptr_t*>(rule.returnAddressAt(cfa)));
      if (rule.fpSaved()) r.fp = *reinterpret_cast<const uintptr_t*>(rule.fpAt(cfa));
      r.sp = cfa;
      if (r.pc < 4096) break;
      out[n++] = r.pc;
      // The call is before the address it returns to, which may be another function's.
      lookup = r.pc - 1;
    }
    return n;
  }

 private:
  struct Entry {
    std::atomic<uint64_t> check;
    std::atomic<uint64_t> bits;
  };

  // Without the signature of AArch64's pointer authentication: addresses of programs have 48 bits.
  static uintptr_t plain(uintptr_t address) {
#if defined(__aarch64__)
    return address & 0xffffffffffffULL;
#else
    return address;
#endif
  }

  Rule ruleAt(uintptr_t pc) {
    FoundObject object{};
    if (find_ == nullptr || find_(reinterpret_cast<void*>(pc), &object) != 0) return Rule();
    // Another module may be loaded at the same address later.
    const uint64_t key = pc ^ reinterpret_cast<uintptr_t>(object.ehFrame) << 17;
    Entry& entry = cache_[(key * 0x9e3779b97f4a7c15ULL) >> 51];
    const uint64_t bits = entry.bits.load(std::memory_order_relaxed);
    // Two threads may write at once: an entry is used only if its words match.
    if ((entry.check.load(std::memory_order_relaxed) ^ bits) == key) return Rule(bits);
    const Rule rule = CallFrames::find(pc, object);
    entry.bits.store(rule.bits(), std::memory_order_relaxed);
    entry.check.store(key ^ rule.bits(), std::memory_order_relaxed);
    return rule;
  }

  FindObject find_;
  Entry cache_[kCached];
};

}  // namespace stormlog_heap
