// One ring file of a probe, read up to its writer's head. The writer is the measured process: the content may be wrong,
// half-written or hostile, so no number in it is used as an address, and each costs at most a bounded read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../probe_ring.h"
#include "../../support/unique_fd.h"

namespace stormlog {

class ProbeFile {
 public:
  enum class Answer {
    // Nothing new, or no header yet.
    kIdle,
    kMoved,
    // Its writer ended in order, and everything is read.
    kEnded,
    // Not a ring, or no longer one. Nothing more is read from it.
    kForeign,
    kTruncated,
  };

  class Visitor {
   public:
    virtual void record(const ProbeRecord& record) = 0;

   protected:
    ~Visitor() = default;
  };

  // Takes over the descriptor of a regular file.
  void adopt(UniqueFd fd, uint64_t nowNs);
  void close() { fd_.reset(); }
  bool isOpen() const { return static_cast<bool>(fd_); }

  // Room to read into, shared by all files.
  struct Batch {
    static constexpr size_t kRecords = 64;
    ProbeRecord records[kRecords];
  };

  // Reads what is new, at most `budget` records, which is reduced by what was read.
  Answer drain(uint64_t nowNs, Visitor& visitor, Batch& batch, uint64_t& budget);

  // The header as last read; valid once `hasHeader()`.
  const ProbeHeader& header() const { return header_; }
  bool hasHeader() const { return capacity_ != 0; }
  // Records overwritten or torn before they could be read, so far.
  uint64_t lost() const { return lost_; }
  uint64_t lastMovedNs() const { return movedNs_; }
  // The last drain found an implausible header. Later records stay unread until a drain finds a plausible one.
  bool inDoubt() const { return doubts_ > 0; }

 private:
  Answer readHeader(uint64_t nowNs);
  bool readHead(uint64_t& head) const;
  Answer doubt();
  Answer readRecords(Visitor& visitor, Batch& batch, uint64_t& budget);

  UniqueFd fd_;
  ProbeHeader header_{};
  // Fixed by the first good header; 0 before.
  uint32_t capacity_ = 0;
  uint64_t tail_ = 0;
  uint64_t lost_ = 0;
  uint64_t adoptedNs_ = 0;
  uint64_t movedNs_ = 0;
  // How often the record at `tail_` was found unfinished.
  uint32_t unfinished_ = 0;
  // Number of drains in a row that found an implausible header.
  uint32_t doubts_ = 0;
};

}  // namespace stormlog
