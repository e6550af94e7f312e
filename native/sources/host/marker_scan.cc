#include "marker_scan.h"

#include <cstring>
#include <utility>

namespace stormlog {

MarkerScan::MarkerScan(const ProcFs& proc, std::string marker) : proc_(proc), marker_(std::move(marker)) {
  if (!enabled()) return;
  before_.reset(new uint64_t[kPidWords]());
  now_.reset(new uint64_t[kPidWords]());
  buffer_.reset(new char[kBuffer]);
}

void MarkerScan::pass(TreeScan::Visitor& visitor) {
  if (!enabled()) return;
  PidDirectory all(proc_.openTop("."));
  if (!all.valid()) return;
  memset(now_.get(), 0, kPidWords * sizeof(uint64_t));
  for (int pid = all.next(); pid != 0; pid = all.next()) {
    const size_t word = static_cast<size_t>(pid) / 64;
    if (word >= kPidWords) continue;
    const uint64_t bit = 1ULL << (pid % 64);
    now_[word] |= bit;
    if ((before_[word] & bit) != 0) continue;
    if (proc_.environContains(pid, marker_.c_str(), marker_.size(), buffer_.get(), kBuffer)) visitor.found(pid, 0);
  }
  std::swap(before_, now_);
}

}  // namespace stormlog
