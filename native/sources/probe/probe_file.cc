#include "probe_file.h"

#include <cstring>

#include "../../support/clock.h"
#include "../../support/whole_io.h"

namespace stormlog {
namespace {

// A file that has no header after this long will not get one.
constexpr uint64_t kSettleNs = 5 * kSecond;
// The head may become visible shortly before its record. After this many readings the record counts as lost.
constexpr uint32_t kLooks = 3;
// A header that contradicts what was read before may be half written, by a process that is not running right now. After
// this many drains (a second) the file counts as foreign.
constexpr uint32_t kDoubts = 25;

bool isRing(const ProbeHeader& header) {
  const uint32_t capacity = header.capacity;
  return memcmp(header.magic, kProbeMagic, sizeof header.magic) == 0 && header.headerBytes == kProbeHeaderBytes &&
         header.recordBytes == kProbeRecordBytes && capacity != 0 && capacity <= kProbeMaxCapacity && (capacity & (capacity - 1)) == 0;
}

}  // namespace

void ProbeFile::adopt(UniqueFd fd, uint64_t nowNs) {
  fd_ = static_cast<UniqueFd&&>(fd);
  capacity_ = 0;
  tail_ = 0;
  lost_ = 0;
  unfinished_ = 0;
  doubts_ = 0;
  adoptedNs_ = nowNs;
  movedNs_ = nowNs;
}

ProbeFile::Answer ProbeFile::readHeader(uint64_t nowNs) {
  ProbeHeader now;
  const size_t n = readWhole(fd_.get(), &now, sizeof now, 0);
  if (capacity_ != 0) {
    if (n < sizeof now) return Answer::kTruncated;
    // A ring never changes its shape, and its head never falls.
    if (!isRing(now) || now.capacity != capacity_ || now.head < tail_) return doubt();
    header_ = now;
    return Answer::kMoved;
  }
  // A new file may be empty or half-written for a while. After that it is not a ring.
  if (n < sizeof now || !isRing(now)) return nowNs - adoptedNs_ < kSettleNs ? Answer::kIdle : Answer::kForeign;
  capacity_ = now.capacity;
  header_ = now;
  return Answer::kMoved;
}

bool ProbeFile::readHead(uint64_t& head) const {
  return readWhole(fd_.get(), &head, sizeof head, offsetof(ProbeHeader, head)) == sizeof head;
}

ProbeFile::Answer ProbeFile::doubt() { return ++doubts_ < kDoubts ? Answer::kIdle : Answer::kForeign; }

ProbeFile::Answer ProbeFile::drain(uint64_t nowNs, Visitor& visitor, Batch& batch, uint64_t& budget) {
  const Answer answer = readHeader(nowNs);
  if (answer != Answer::kMoved) return answer;
  const uint64_t from = tail_;
  if (header_.head - tail_ > capacity_) {
    // A head that is too high would skip records that are not written yet, so an implausible one is read twice.
    uint64_t again = 0;
    if (!readHead(again)) return Answer::kTruncated;
    if (again < header_.head) return doubt();
    lost_ += header_.head - tail_ - capacity_;
    tail_ = header_.head - capacity_;
  }
  const Answer read = readRecords(visitor, batch, budget);
  if (read != Answer::kMoved) return read;
  doubts_ = 0;
  if (tail_ != from) movedNs_ = nowNs;
  if (tail_ == header_.head && header_.state == kProbeEnded) return Answer::kEnded;
  return tail_ != from ? Answer::kMoved : Answer::kIdle;
}

ProbeFile::Answer ProbeFile::readRecords(Visitor& visitor, Batch& batch, uint64_t& budget) {
  const uint64_t head = header_.head;
  // The slot of the record after the head may be half written, unless its writer has ended.
  const uint64_t readable = header_.state == kProbeEnded ? capacity_ : capacity_ - 1;
  while (tail_ < head && budget > 0) {
    uint64_t count = head - tail_;
    if (count > Batch::kRecords) count = Batch::kRecords;
    if (count > budget) count = budget;
    const uint64_t slot = tail_ & (capacity_ - 1);
    if (count > capacity_ - slot) count = capacity_ - slot;
    const size_t size = static_cast<size_t>(count) * kProbeRecordBytes;
    if (readWhole(fd_.get(), batch.records, size, kProbeHeaderBytes + slot * kProbeRecordBytes) < size) return Answer::kTruncated;
    // A writer may have changed what was just read: only records that are still in the ring afterwards are valid.
    uint64_t after = 0;
    if (!readHead(after)) return Answer::kTruncated;
    if (after < head) return doubt();
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t index = tail_;
      const ProbeRecord& record = batch.records[i];
      const bool there = after - index <= readable;
      const bool whole = record.seq == index + 1 && record.seqEnd == index + 1;
      // The head is visible before the record: read it again at the next drain, up to kLooks times.
      if (there && !whole && ++unfinished_ < kLooks) return Answer::kMoved;
      unfinished_ = 0;
      ++tail_;
      --budget;
      if (there && whole) visitor.record(record);
      else ++lost_;
    }
  }
  return Answer::kMoved;
}

}  // namespace stormlog
