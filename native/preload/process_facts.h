// Rank and role of this process in its job, and the text file beside its ring that reports them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace stormlog_heap {

// Text in a fixed buffer. Text that does not fit is left out and sets `cut`.
class Text {
 public:
  void clear() { size_ = 0; }
  void shorten(size_t size) { size_ = size; }
  size_t size() const { return size_; }
  bool cut() const { return cut_; }
  const char* text() {
    buffer_[size_] = '\0';
    return buffer_;
  }

  Text& add(const char* text) {
    while (*text != '\0') put(*text++);
    return *this;
  }
  Text& add(uint64_t number) {
    char digits[20];
    size_t n = 0;
    do {
      digits[n++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (n > 0) put(digits[--n]);
    return *this;
  }
  // One value of a key=value line: '%', line ends and NUL as %XX.
  Text& addEscaped(const char* text, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      const char c = text[i];
      if (c == '%') add("%25");
      else if (c == '\r') add("%0D");
      else if (c == '\n') add("%0A");
      else put(c == '\0' ? ' ' : c);
    }
    return *this;
  }

 private:
  void put(char c) {
    if (size_ + 1 < sizeof buffer_) buffer_[size_++] = c;
    else cut_ = true;
  }

  size_t size_ = 0;
  bool cut_ = false;
  char buffer_[PATH_MAX + 4096];
};

// Creates the first "<directory>/<pid>.<n><ending>" that does not exist; a process that becomes another program by exec
// keeps its pid. `stem` is then its path without the ending. Returns a descriptor, or -1.
inline int claimFile(const char* directory, const char* ending, int flags, Text& stem) {
  constexpr uint64_t kMaxInstances = 10000;
  for (uint64_t instance = 0; instance < kMaxInstances; ++instance) {
    stem.clear();
    stem.add(directory).add("/").add(static_cast<uint64_t>(getpid())).add(".").add(instance);
    const size_t size = stem.size();
    stem.add(ending);
    if (stem.cut()) return -1;
    const int fd = open(stem.text(), flags | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    stem.shorten(size);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

// Decimal digits alone, up to nine of them; otherwise `fallback`.
inline uint64_t numberOf(const char* text, uint64_t fallback) {
  if (text == nullptr || *text == '\0') return fallback;
  uint64_t value = 0;
  size_t digits = 0;
  for (; *text >= '0' && *text <= '9'; ++text, ++digits) value = value * 10 + static_cast<uint64_t>(*text - '0');
  return *text == '\0' && digits > 0 && digits <= 9 ? value : fallback;
}

struct ProcessFacts {
  int32_t rank;
  int32_t localRank;
  int32_t worldSize;
  // 0 plain, 1 rank, 3 child of a rank.
  int32_t role;

  // The launchers' variables, a group of which counts only with both rank and world size.
  void look() {
    static constexpr const char* kGroups[][3] = {
        {"RANK", "LOCAL_RANK", "WORLD_SIZE"},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
        // Of the step: a batch script also has the number of tasks of its job, and is not a rank.
        {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS"},
    };
    constexpr uint64_t kNone = UINT64_MAX;
    rank = localRank = worldSize = -1;
    role = 0;
    for (const auto& group : kGroups) {
      const uint64_t own = numberOf(getenv(group[0]), kNone);
      const uint64_t all = numberOf(getenv(group[2]), kNone);
      if (own == kNone || all == kNone || own >= all) continue;
      rank = static_cast<int32_t>(own);
      worldSize = static_cast<int32_t>(all);
      localRank = static_cast<int32_t>(numberOf(getenv(group[1]), own));
      role = 1;
      return;
    }
  }

  // `<stem>.info`, under another name until it is whole.
  void writeInfo(Text& stem, const char* heap) const {
    static Text body;
    static char raw[4096];
    const size_t bare = stem.size();
    body.clear();
    body.add("pid=").add(static_cast<uint64_t>(getpid())).add("\nppid=").add(static_cast<uint64_t>(getppid()));
    addFile(body, "\nargv=", "/proc/self/cmdline", raw, sizeof raw);
    const ssize_t n = readlink("/proc/self/exe", raw, sizeof raw);
    if (n > 0) body.add("\nexecutable=").addEscaped(raw, static_cast<size_t>(n));
    if (rank >= 0) {
      body.add("\nrank=").add(static_cast<uint64_t>(rank)).add("\nlocal_rank=").add(static_cast<uint64_t>(localRank));
      body.add("\nworld_size=").add(static_cast<uint64_t>(worldSize));
    }
    body.add("\nrole=").add(static_cast<uint64_t>(role)).add("\nheap=").add(heap).add("\n");
    char part[PATH_MAX];
    stem.add(".info.part");
    if (stem.cut() || stem.size() >= sizeof part) return;
    strcpy(part, stem.text());
    stem.shorten(bare);
    stem.add(".info");
    const int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return;
    const char* text = body.text();
    const bool whole = write(fd, text, body.size()) == static_cast<ssize_t>(body.size());
    close(fd);
    if (!whole || rename(part, stem.text()) != 0) unlink(part);
  }

 private:
  static void addFile(Text& body, const char* key, const char* path, char* buffer, size_t size) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t n = read(fd, buffer, size);
    close(fd);
    while (n > 0 && buffer[n - 1] == '\0') --n;
    if (n > 0) body.add(key).addEscaped(buffer, static_cast<size_t>(n));
  }
};

}  // namespace stormlog_heap
