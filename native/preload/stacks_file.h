// Writes live samples by stack as JSON, without allocating: `stormlog.native/1`, one document for each moment.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "peak.h"

namespace stormlog_heap {

class StacksFile {
 public:
  struct Facts {
    uint64_t moment;
    // -1 when the program has no steps.
    int64_t step;
    uint64_t interval;
  };

  // False when it cannot be written. One thread at a time.
  bool write(const char* path, const SampleTable& table, const StackSums& sums, const Facts& facts) {
    char part[PATH_MAX];
    const size_t length = strlen(path);
    if (length + sizeof ".part" > sizeof part) return false;
    memcpy(part, path, length);
    memcpy(part + length, ".part", sizeof ".part");
    fd_ = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd_ < 0) return false;
    whole_ = true;
    used_ = 0;
    document(table, sums, facts);
    flush();
    close(fd_);
    if (whole_ && rename(part, path) == 0) return true;
    unlink(part);
    return false;
  }

 private:
  // Stacks below this share of all live bytes are added up.
  static constexpr uint64_t kShare = 5000;

  void document(const SampleTable& table, const StackSums& sums, const Facts& facts) {
    text("{\"schema\":\"stormlog.native/1\",\"pid\":").number(static_cast<uint64_t>(getpid()));
    text(",\"moment\":").number(facts.moment);
    text(",\"step\":");
    if (facts.step < 0) text("null");
    else number(static_cast<uint64_t>(facts.step));
    text(",\"time_ns\":").number(sums.timeNs);
    text(",\"interval_bytes\":").number(facts.interval);
    text(",\"dropped\":").number(table.dropped());
    text(",\"total_bytes\":").number(sums.total);
    text(",\"stacks\":[");
    uint64_t others = 0;
    bool first = true;
    for (uint32_t at = 0; at < SampleTable::kStacks; ++at) {
      if (sums.counts[at] == 0) continue;
      if (sums.bytes[at] < sums.total / kShare) {
        others += sums.bytes[at];
        continue;
      }
      if (!first) text(",\n");
      first = false;
      one(table.at(at), sums.bytes[at], sums.counts[at]);
    }
    text("],\"others_bytes\":").number(others);
    text(",\"modules\":[");
    modules();
    text("]}\n");
  }

  void one(const Stack& stack, uint64_t bytes, uint32_t count) {
    text("{\"bytes\":").number(bytes);
    text(",\"count\":").number(count);
    text(",\"native\":[");
    for (unsigned i = 0; i < stack.natives; ++i) {
      if (i > 0) text(",");
      number(stack.native[i]);
    }
    text("],\"python\":[");
    for (unsigned i = 0; i < stack.pythons; ++i) {
      const PythonFrame& frame = stack.python[i];
      if (i > 0) text(",");
      text("[").number(frame.code);
      text(",").number(frame.instruction);
      text(",").number(frame.file);
      text(",").number(frame.name);
      text(",").number(frame.firstLine);
      text("]");
    }
    text("]}");
  }

  // [start, end, offset in the file, path] of the executable mappings.
  void modules() {
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    static char line[PATH_MAX + 256];
    static char chunk[4096];
    size_t length = 0;
    bool first = true;
    for (ssize_t n = 0; (n = read(fd, chunk, sizeof chunk)) > 0;) {
      for (ssize_t i = 0; i < n; ++i) {
        if (chunk[i] != '\n') {
          if (length + 1 < sizeof line) line[length++] = chunk[i];
          continue;
        }
        line[length] = '\0';
        length = 0;
        first = !module(line, first) && first;
      }
    }
    close(fd);
  }

  bool module(const char* line, bool first) {
    char* at = nullptr;
    const uint64_t start = strtoull(line, &at, 16);
    if (*at != '-') return false;
    const uint64_t end = strtoull(at + 1, &at, 16);
    // " r-xp 00001000 fd:01 1234  /path"
    if (strlen(at) < 6 || at[3] != 'x') return false;
    const uint64_t offset = strtoull(at + 6, &at, 16);
    const char* path = strchr(at, '/');
    if (path == nullptr) return false;
    if (!first) text(",\n");
    text("[").number(start);
    text(",").number(end);
    text(",").number(offset);
    text(",\"");
    for (const char* c = path; *c != '\0'; ++c) {
      if (*c == '"' || *c == '\\') text("\\");
      const char letter[2] = {static_cast<unsigned char>(*c) < ' ' ? '?' : *c, '\0'};
      text(letter);
    }
    text("\"]");
    return true;
  }

  StacksFile& text(const char* value) {
    const size_t length = strlen(value);
    if (used_ + length > sizeof buffer_) flush();
    memcpy(buffer_ + used_, value, length);
    used_ += length;
    return *this;
  }
  StacksFile& number(uint64_t value) {
    char digits[21];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
      digits[--at] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    return text(digits + at);
  }
  void flush() {
    size_t done = 0;
    while (done < used_ && whole_) {
      const ssize_t n = ::write(fd_, buffer_ + done, used_ - done);
      if (n <= 0) whole_ = false;
      else done += static_cast<size_t>(n);
    }
    used_ = 0;
  }

  int fd_;
  bool whole_;
  size_t used_;
  char buffer_[64 * 1024];
};

}  // namespace stormlog_heap
