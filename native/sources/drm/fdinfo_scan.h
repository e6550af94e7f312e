// The open graphics devices of given processes. Checking every descriptor of every process is expensive, so the kind
// of each is cached: new ones are checked at once, known ones again every few scans, graphics devices at every reading.
// The fdinfo file of a graphics device stays open, because opening it costs ten times the reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "fdinfo.h"
#include "../host/procfs.h"

namespace stormlog {

class FdInfoVisitor {
 public:
  // An open graphics device. `minor`: of its device node, by its name; -1 when the name has none.
  virtual void client(int pid, int minor, const FdInfo& info) = 0;
  // The process may not be read (EACCES), or there are too many (EOVERFLOW).
  virtual void refused(int pid, int error) = 0;

 protected:
  ~FdInfoVisitor() = default;
};

class FdInfoScan {
 public:
  // Processes, and descriptors of each, that are cached. Beyond these, each scan checks again.
  static constexpr size_t kProcesses = 1024;
  static constexpr unsigned kRemembered = 1024;
  // Descriptors of one process that one scan checks, and graphics devices among them.
  static constexpr unsigned kMaxLooks = 16384;
  static constexpr size_t kMaxDevices = 32;
  // A descriptor of another kind is checked again at every n-th scan: its number may have been closed and reused.
  static constexpr unsigned kRounds = 8;

  // `maxKept`: how many descriptors may be kept open.
  FdInfoScan(const std::string& procRoot, size_t maxKept);
  ~FdInfoScan();

  // Finds the open devices of the processes and reads them.
  void find(const int* pids, size_t count, FdInfoVisitor& visitor);
  // Reads those that the last `find` found, and looks for no others.
  void readAgain(const int* pids, size_t count, FdInfoVisitor& visitor);

 private:
  struct Process;

  Process* slotOf(int pid, bool make);
  void drop(Process& process, size_t i);
  void forget(Process& process);
  bool look(Process& process, int directory, unsigned fd);
  void findDevices(Process& process, FdInfoVisitor& visitor);
  bool readOne(Process& process, size_t i, FdInfoVisitor& visitor);
  void readAll(Process& process, FdInfoVisitor& visitor);
  void forgetUnseen();

  char root_[512];
  std::unique_ptr<Process[]> processes_;
  const size_t maxKept_;
  size_t kept_ = 0;
  unsigned round_ = 0;
};

}  // namespace stormlog
