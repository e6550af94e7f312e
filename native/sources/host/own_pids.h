// The numbers of processes in the pid namespace of the job's root, which is what they see themselves.
#pragma once

#include <climits>
#include <cstring>

#include "procfs.h"

namespace stormlog {

class OwnPids {
 public:
  // Without one of the job's own, each process has the number that it has here.
  void begin(const ProcFs& proc, int rootPid) {
    int pids[kMax];
    const size_t count = read(proc, rootPid, pids);
    depth_ = count > 0 ? count - 1 : 0;
    root_ = count > 0 ? pids[depth_] : rootPid;
  }

  bool differ() const { return depth_ > 0; }
  int root() const { return root_; }

  int of(const ProcFs& proc, int pid) const {
    int pids[kMax];
    return differ() && read(proc, pid, pids) > depth_ ? pids[depth_] : pid;
  }

 private:
  // The kernel's own limit (MAX_PID_NS_LEVEL), and the first.
  static constexpr size_t kMax = 33;

  // From the namespace of /proc inwards; 0 where the kernel does not list them (Linux before 4.1).
  static size_t read(const ProcFs& proc, int pid, int* out) {
    constexpr char kKey[] = "\nNSpid:";
    char text[4096];
    const ssize_t n = proc.read(pid, "status", text, sizeof text);
    const char* end = text + (n > 0 ? n : 0);
    const char* at = static_cast<const char*>(memmem(text, static_cast<size_t>(end - text), kKey, sizeof kKey - 1));
    size_t count = 0;
    for (at = at == nullptr ? end : at + sizeof kKey - 1; count < kMax && at < end && *at == '\t'; ++count) {
      uint64_t number = 0;
      if (!parseNumber(++at, end, number) || number > INT_MAX) return 0;
      out[count] = static_cast<int>(number);
    }
    return count;
  }

  // Pid namespaces between that of /proc and the job's.
  size_t depth_ = 0;
  int root_ = 0;
};

}  // namespace stormlog
