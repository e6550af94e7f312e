// Finds processes by the marker variable in their environment: those that left the tree (re-parented past the
// subreaper).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "procfs.h"
#include "tree_scan.h"

namespace stormlog {

class MarkerScan {
 public:
  MarkerScan(const ProcFs& proc, std::string marker);

  bool enabled() const { return !marker_.empty(); }

  // Reads the environment of every process of the machine that is new since the previous pass: the marker is inherited
  // at fork, so a process without it does not get it later.
  void pass(TreeScan::Visitor& visitor);

 private:
  // pid_max is at most 2^22 on 64-bit Linux.
  static constexpr size_t kPidWords = (1u << 22) / 64;
  static constexpr size_t kBuffer = 65536;

  const ProcFs& proc_;
  const std::string marker_;
  std::unique_ptr<uint64_t[]> before_;
  std::unique_ptr<uint64_t[]> now_;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace stormlog
