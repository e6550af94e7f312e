// The interface of the host source, implemented per platform: host_linux.cc (procfs) and host_darwin.cc (libproc).
#pragma once

#include <memory>
#include <string>

#include "../source.h"

namespace stormlog {

struct HostOptions {
  std::string procRoot = "/proc";
  int rootPid = 0;
  bool includeRoot = true;
  // "NAME=value", or empty for none.
  std::string marker;
  // Programs that are not measured, with all that they start; one a line.
  std::string ignore;
};

struct HostTotals {
  uint64_t rssBytes = 0;
  // Anonymous + shared memory.
  uint64_t hostBytes = 0;
  bool hostKnown = false;
  uint32_t processes = 0;
};

class HostSource : public Source {
 public:
  // How late the coming sample is, for its record.
  void setLatenessNs(uint64_t ns) { latenessNs_ = ns; }
  const HostTotals& totals() const { return totals_; }

  // True when `pid` is the root or in the tree, and measured.
  virtual bool owns(int pid) = 0;

  // True when `pid` is in the tree and not measured, or about to be found so.
  virtual bool ignores(int) { return false; }

  // The number of a member where the job has a pid namespace of its own, which is what its records carry; `pid` else.
  virtual int ownPid(int pid) { return pid; }

  // The reverse; 0 where the tree has no such process.
  virtual int pidOf(int ownPid) { return ownPid; }

  // Rises when a process joined or left the tree.
  uint64_t membership() const { return membership_; }

  // Writes the pids of the tree's living processes, at most `max`, and returns how many.
  virtual size_t members(int* out, size_t max) = 0;

  // For how long further samples would repeat the last one: no process has changed and no check is due.
  virtual uint64_t stillForNs() const { return 0; }

  // Scans for new processes now, before the next scan is due.
  virtual void lookAgain(uint64_t timeNs, RecordSink& out) = 0;

  // The final reading, with the high-water marks of all.
  virtual void finish(uint64_t timeNs, RecordSink& out) = 0;

  static std::unique_ptr<HostSource> create(const HostOptions& options);

 protected:
  HostTotals totals_;
  uint64_t latenessNs_ = 0;
  uint64_t membership_ = 0;
};

}  // namespace stormlog
