// Writes live samples by stack as JSON, without allocating: `stormlog.native/1`, one document for each moment.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "call_stack.h"
#include "peak.h"

namespace stormlog_heap {

class StacksFile {
 public:
  struct Facts {
    uint64_t moment;
    // -1 when the program has no steps.
    int64_t step;
    uint64_t interval;
    // Of large blocks, only what was touched.
    bool touched;
  };

  // False when it cannot be written. One thread at a time.
  bool write(const char* path, const SampleTable& table, LiveSamples& samples, const Facts& facts) {
    char part[PATH_MAX];
    const size_t length = strlen(path);
    if (length + sizeof ".part" > sizeof part) return false;
    memcpy(part, path, length);
    memcpy(part + length, ".part", sizeof ".part");
    fd_ = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd_ < 0) return false;
    // Where a file may be opened, the program is not so confined that the question of pages ends it (seccomp).
    if (facts.touched) samples.leaveUntouched(table);
    whole_ = true;
    used_ = 0;
    document(table, samples, facts);
    flush();
    close(fd_);
    if (whole_ && rename(part, path) == 0) return true;
    unlink(part);
    return false;
  }

 private:
  // Stacks below this share of all live bytes are added up.
  static constexpr uint64_t kShare = 5000;
  static constexpr unsigned kParts = 64;

  void document(const SampleTable& table, const LiveSamples& samples, const Facts& facts) {
    text("{\"schema\":\"stormlog.native/1\",\"pid\":").number(static_cast<uint64_t>(getpid()));
    text(",\"moment\":").number(facts.moment);
    text(",\"step\":");
    if (facts.step < 0) text("null");
    else number(static_cast<uint64_t>(facts.step));
    text(",\"time_ns\":").number(samples.timeNs);
    text(",\"interval_bytes\":").number(facts.interval);
    text(",\"dropped\":").number(table.dropped());
    text(",\"total_bytes\":").number(samples.total);
    text(",\"heap_bytes\":");
    if (samples.heap == 0) text("null");
    else number(samples.heap);
    text(",\"stacks\":[");
    // The samples of each stack as a list.
    memset(first_, 0, sizeof first_);
    for (uint32_t at = 0; at < SampleTable::kSamples; ++at) {
      if (samples.stacks[at] == 0) continue;
      next_[at] = first_[samples.stacks[at] - 1];
      first_[samples.stacks[at] - 1] = at + 1;
    }
    uint64_t others = 0;
    bool first = true;
    for (uint32_t stack = 0; stack < SampleTable::kStacks; ++stack) {
      if (first_[stack] == 0) continue;
      Part whole{};
      for (uint32_t at = first_[stack]; at != 0; at = next_[at - 1]) whole.add(samples.bytes[at - 1]);
      if (whole.bytes < samples.total / kShare) {
        others += whole.bytes;
        continue;
      }
      if (!first) text(",\n");
      first = false;
      one(table.at(stack), samples, first_[stack], whole);
    }
    text("],\"others_bytes\":").number(others);
    text(",\"modules\":[");
    modules();
    text("]}\n");
  }

  // Samples of one stack that have the same tag.
  struct Part {
    uint64_t bytes;
    uint32_t count;
    Tag tag;

    void add(uint64_t own) {
      bytes += own;
      ++count;
    }
    bool has(const Tag& other) const { return tag.category == other.category && tag.phase == other.phase && tag.kept == other.kept; }
  };

  void one(const Stack& stack, const LiveSamples& samples, uint32_t head, const Part& whole) {
    text("{\"bytes\":").number(whole.bytes);
    text(",\"count\":").number(whole.count);
    text(",\"parts\":[");
    Part parts[kParts]{};
    unsigned count = 0;
    for (uint32_t at = head; at != 0; at = next_[at - 1]) {
      const Tag& tag = samples.tags[at - 1];
      unsigned found = 0;
      while (found < count && !parts[found].has(tag)) ++found;
      // No stack has that many parts.
      if (found == kParts) continue;
      if (found == count) parts[count++].tag = tag;
      parts[found].add(samples.bytes[at - 1]);
    }
    for (unsigned i = 0; i < count; ++i) {
      if (i > 0) text(",");
      text("[").known(parts[i].tag.category);
      text(",").known(parts[i].tag.phase);
      text(parts[i].tag.kept ? ",1," : ",0,").number(parts[i].bytes);
      text(",").number(parts[i].count);
      text("]");
    }
    text(stack.objects ? "],\"allocator\":\"python\",\"native\":[" : "],\"native\":[");
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
    const int fd = openMaps();
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
  StacksFile& known(uint64_t value) { return value == 0 ? text("null") : number(value); }
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
  // Heads of the lists, and the next sample of each: one more than its index, 0 for none.
  uint32_t first_[SampleTable::kStacks];
  uint32_t next_[SampleTable::kSamples];
  char buffer_[64 * 1024];
};

}  // namespace stormlog_heap
