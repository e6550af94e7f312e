#include "record_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace stormlog {

int RecordWriter::open(const char* path, const FileHeader& header) {
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  return adopt(UniqueFd(fd), header);
}

int RecordWriter::adopt(UniqueFd fd, const FileHeader& header) {
  fd_ = std::move(fd);
  error_ = 0;
  count_ = 0;
  writeAll(&header, sizeof header);
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
  written_ += whole;
  lost_ += count_ - whole;
  count_ = 0;
  if (error_ != 0) {
    // Cut a torn last record off; it fails on a pipe or a device, where there is nothing to cut.
    const off_t end = static_cast<off_t>(kHeaderBytes + written_ * kRecordBytes);
    if (ftruncate(fd_.get(), end) != 0) return;
  }
}

void RecordWriter::close() {
  flush();
  fd_.reset();
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
