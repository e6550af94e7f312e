// Appends records to the file that is the source of truth: a fixed buffer, one write() per batch, no fsync.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../record_format.h"
#include "../support/keyed_digest.h"
#include "../support/unique_fd.h"

namespace stormlog {

class RecordWriter final : public RecordSink {
 public:
  static constexpr size_t kBatch = 1024;

  // Creates `path`, which must not exist, and writes the header. Returns 0 or an errno.
  int open(const char* path, const FileHeader& header);

  // Takes over an open descriptor (tests: pipes, /dev/full). Returns 0 or an errno.
  int adopt(UniqueFd fd, const FileHeader& header);

  // Buffers one record; writes the batch when it is full. After a failure records are dropped, counted in `lost()`.
  void push(const Record& record) override;

  // Writes what is buffered. The first failure is kept in `error()` and ends writing: a file that stops after a whole
  // record is valid, one with a gap is not.
  void flush();

  // Writes what is buffered for the last time. The descriptor stays open for `readBack`.
  void close();

  // The next bytes of what was written, through the same descriptor; 0 at the end, and -1 on an error. The file may be
  // shorter than what was written, where another process cut it. Call it after `close`.
  ssize_t readBack(void* out, size_t size);

  // Whether all bytes were read back as they were written.
  bool intact() const;

  // The descriptor, for fstat; -1 after `release`.
  int fd() const { return fd_.get(); }
  void release() { fd_.reset(); }

  // Bytes of the header and of the whole records that were written.
  uint64_t bytes() const { return digested_.bytes(); }

  // 0, or the errno that ended writing.
  int error() const { return error_; }
  uint64_t written() const { return written_; }
  uint64_t lost() const { return lost_; }
  bool empty() const { return count_ == 0; }

 private:
  // Bytes written; less than `size` only on failure, whose errno is then in `error_`.
  size_t writeAll(const void* data, size_t size);

  UniqueFd fd_;
  Record buffer_[kBatch];
  size_t count_ = 0;
  uint64_t written_ = 0;
  uint64_t lost_ = 0;
  int error_ = 0;
  KeyedDigest digested_;
  KeyedDigest readBack_;
};

}  // namespace stormlog
