// Finds the members of the process tree and passes each pid to a callback. Does not read memory.
#pragma once

#include <cstdint>
#include <memory>

#include "process_table.h"
#include "procfs.h"

namespace stormlog {

class TreeScan {
 public:
  // Called for every pid found under `parent`; adds it to the table if it is new.
  class Visitor {
   public:
    virtual void found(int pid, int parent) = 0;

   protected:
    ~Visitor() = default;
  };

  TreeScan(const ProcFs& proc, int rootPid);

  // True when the kernel lists children per thread; otherwise every pass reads the parent of every process of the
  // machine.
  bool usesChildrenFiles() const { return childrenFiles_; }

  // True when no process or thread was born on this machine since the last call, so that a pass would find nothing new.
  // Never true where that is unknown.
  bool nothingBorn();

  // One pass over the root and all entries of the table, which grows while it is walked.
  void pass(ProcessTable& table, Visitor& visitor);

 private:
  void scanChildren(int pid, UniqueFd& mainThread, UniqueFd& tasks, Visitor& visitor);
  void readChildren(int fd, int parent, Visitor& visitor);
  void scanParents(ProcessTable& table, Visitor& visitor);

  struct Pair {
    int pid;
    int parent;
  };
  static constexpr size_t kPairs = 65536;

  const ProcFs& proc_;
  const int rootPid_;
  bool childrenFiles_ = true;
  UniqueFd rootChildren_;
  UniqueFd rootTasks_;
  UniqueFd loadavg_;
  uint64_t lastBorn_ = 0;
  std::unique_ptr<Pair[]> pairs_;
};

}  // namespace stormlog
