#include "record_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "../support/whole_io.h"

namespace stormlog {

int RecordWriter::open(const char* path, const FileHeader& header) {
  const int fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return errno;
  return adopt(UniqueFd(fd), header);
}

int RecordWriter::adopt(UniqueFd fd, const FileHeader& header) {
  fd_ = std::move(fd);
  error_ = 0;
  count_ = 0;
  uint64_t key[2];
  error_ = randomKey(key);
  if (error_ != 0) return error_;
  digested_ = KeyedDigest(key);
  readBack_ = KeyedDigest(key);
  if (writeAll(&header, sizeof header) == sizeof header) digested_.add(&header, sizeof header);
  return error_;
}

void RecordWriter::push(const Record& record) {
  if (error_ != 0 || !fd_) {
    ++lost_;
    return;
  }
  buffer_[count_++] = record;
  if (count_ == kBatch) flush();
}

void RecordWriter::flush() {
  if (count_ == 0) return;
  const size_t done = writeAll(buffer_, count_ * sizeof(Record));
  const size_t whole = done / sizeof(Record);
  digested_.add(buffer_, whole * sizeof(Record));
  written_ += whole;
  lost_ += count_ - whole;
  count_ = 0;
  if (error_ != 0) {
    // Cut a torn last record off; it fails on a pipe or a device, where there is nothing to cut.
    const off_t end = static_cast<off_t>(kHeaderBytes + written_ * kRecordBytes);
    if (ftruncate(fd_.get(), end) != 0) return;
  }
}

void RecordWriter::close() { flush(); }

ssize_t RecordWriter::readBack(void* out, size_t size) {
  const uint64_t left = digested_.bytes() - readBack_.bytes();
  if (size > left) size = static_cast<size_t>(left);
  const size_t done = readWhole(fd_.get(), out, size, readBack_.bytes());
  if (done < size && errno != 0) return -1;
  // A file that was cut within a word cannot be intact; the whole words are digested.
  readBack_.add(out, done);
  return static_cast<ssize_t>(done);
}

bool RecordWriter::intact() const {
  return readBack_.bytes() == digested_.bytes() && readBack_.value() == digested_.value();
}

size_t RecordWriter::writeAll(const void* data, size_t size) {
  const size_t done = writeWhole(fd_.get(), data, size);
  if (done < size) error_ = errno != 0 ? errno : EIO;
  return done;
}

}  // namespace stormlog
