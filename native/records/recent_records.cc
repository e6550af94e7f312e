#include "recent_records.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "../support/whole_io.h"

namespace stormlog {

void RecentRecords::open(const char* path) {
  if (path[0] != 0) fd_ = UniqueFd(::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
}

void RecentRecords::remove(const char* path) {
  if (!fd_) return;
  fd_.reset();
  ::unlink(path);
}

void RecentRecords::push(const Record& record) { memcpy(slot(head_++), &record, sizeof record); }

Record RecentRecords::front() const {
  Record record;
  memcpy(static_cast<void*>(&record), slot(tail_), sizeof record);
  return record;
}

Record RecentRecords::pop() {
  const Record record = front();
  ++tail_;
  return record;
}

void RecentRecords::flush() {
  if (!fd_ || (writtenHead_ == head_ && writtenTail_ == tail_)) return;
  // Records that were pushed and popped since the last flush need not be in the file.
  uint64_t from = writtenHead_ > tail_ ? writtenHead_ : tail_;
  bool done = true;
  while (done && from < head_) {
    const uint64_t first = from % kCapacity;
    const uint64_t count = head_ - from < kCapacity - first ? head_ - from : kCapacity - first;
    const size_t size = count * sizeof(Record);
    done = writeWholeAt(fd_.get(), slot(from), size, kHeaderBytes + first * sizeof(Record)) == size;
    from += count;
  }
  const uint64_t numbers[3] = {head_, tail_, kCapacity};
  unsigned char header[kHeaderBytes] = {};
  memcpy(header, kRecentMagic, sizeof kRecentMagic);
  memcpy(header + sizeof kRecentMagic, numbers, sizeof numbers);
  if (!done || writeWholeAt(fd_.get(), header, sizeof header, 0) != sizeof header) fd_.reset();
  writtenHead_ = head_;
  writtenTail_ = tail_;
}

}  // namespace stormlog
