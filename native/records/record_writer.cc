#include "record_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

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
  char* bytes = static_cast<char*>(out);
  const uint64_t left = digested_.bytes() - readBack_.bytes();
  if (size > left) size = static_cast<size_t>(left);
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(fd_.get(), bytes + done, size - done, static_cast<off_t>(readBack_.bytes() + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  // A file that was cut within a word cannot be intact; the whole words are digested.
  readBack_.add(bytes, done);
  return static_cast<ssize_t>(done);
}

bool RecordWriter::intact() const {
  return readBack_.bytes() == digested_.bytes() && readBack_.value() == digested_.value();
}

size_t RecordWriter::writeAll(const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::write(fd_.get(), bytes + done, size - done);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (n < 0 && errno != EINTR) {
      error_ = errno;
      break;
    } else if (n == 0) {
      error_ = EIO;
      break;
    }
  }
  return done;
}

}  // namespace stormlog
