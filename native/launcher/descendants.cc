#include "descendants.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace stormlog_launcher {
namespace {

// A machine with more is scanned in part; killing repeats until a scan finds nothing, so the rest follows.
constexpr size_t kMaxProcesses = 65536;

// Static, so that killing works when no memory is left.
struct Row {
  int pid;
  int parent;
  bool ended;
  bool stopped;
  bool member;
};
Row rows[kMaxProcesses];
int members[kMaxProcesses];
char environBuffer[65536];

// All-digit names only; 0 otherwise.
int pidOf(const char* name) {
  long value = 0;
  for (const char* p = name; *p != '\0'; ++p) {
    if (*p < '0' || *p > '9' || value > 100000000) return 0;
    value = value * 10 + (*p - '0');
  }
  return static_cast<int>(value);
}

// Field `index` of /proc/<pid>/stat, counted from the state, as a number; 0 where there is none.
long statField(const char* state, int index) {
  for (; index > 0 && *state != '\0'; ++state) index -= *state == ' ';
  return strtol(state, nullptr, 10);
}

bool readRow(int pid, Row& row) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[512];
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  // The name in parentheses may hold anything; what follows the last ')' is "state parent …".
  const char* close_ = strrchr(text, ')');
  if (close_ == nullptr || close_[1] != ' ' || close_[2] == '\0' || close_[3] != ' ') return false;
  row.pid = pid;
  const char* state = close_ + 2;
  // Where only the first thread has ended, it is a zombie that still has threads.
  row.ended = *state == 'X' || (*state == 'Z' && statField(state, 17) < 2);
  // Ctrl-Z takes a process group out of the terminal's foreground.
  row.stopped = *state == 'T' && (statField(state, 4) == 0 || statField(state, 5) == statField(state, 2));
  row.member = false;
  row.parent = static_cast<int>(statField(state, 1));
  return true;
}

// The kernel lists /proc in ascending order of pid.
const Row* findRow(int pid, size_t count) {
  size_t low = 0;
  size_t high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (rows[middle].pid == pid) return &rows[middle];
    if (rows[middle].pid < pid) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return nullptr;
}

}  // namespace

Descendants::Descendants(int self, const char* marker) : self_(self) {
  snprintf(marker_, sizeof marker_, "%s", marker);
  // A truncated marker could match the environment of an unrelated process, so none is used.
  markerSize_ = strlen(marker) < sizeof marker_ ? strlen(marker_) : 0;
}

int Descendants::pid(size_t index) const { return members[index]; }

bool Descendants::carriesMarker(int pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/environ", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  environBuffer[0] = '\0';
  size_t filled = 1;
  bool found = false;
  for (;;) {
    const ssize_t n = read(fd, environBuffer + filled, sizeof environBuffer - filled - 1);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    filled += static_cast<size_t>(n);
    if (n == 0) environBuffer[filled++] = '\0';
    for (size_t i = 0; i + markerSize_ + 2 <= filled && !found; ++i) {
      found = environBuffer[i] == '\0' && environBuffer[i + markerSize_ + 1] == '\0' &&
              memcmp(environBuffer + i + 1, marker_, markerSize_) == 0;
    }
    if (n == 0 || found) break;
    const size_t keep = filled < markerSize_ + 1 ? filled : markerSize_ + 1;
    memmove(environBuffer, environBuffer + filled - keep, keep);
    filled = keep;
  }
  close(fd);
  return found;
}

bool isStopped(int pid) {
  Row row;
  return readRow(pid, row) && row.stopped;
}

size_t Descendants::scan() {
  members_ = 0;
  const int directory = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return 0;
  size_t count = 0;
  alignas(8) char buffer[32768];
  for (;;) {
    const long n = syscall(SYS_getdents64, directory, buffer, sizeof buffer);
    if (n <= 0) break;
    for (long at = 0; at < n;) {
      // struct linux_dirent64: u64 inode, i64 offset, u16 length, u8 type, name.
      uint16_t length = 0;
      memcpy(&length, buffer + at + 16, sizeof length);
      const int pid = pidOf(buffer + at + 19);
      at += length;
      if (pid > 0 && pid != self_ && count < kMaxProcesses && readRow(pid, rows[count])) ++count;
    }
  }
  close(directory);
  bool grew = true;
  while (grew) {
    grew = false;
    for (size_t i = 0; i < count; ++i) {
      if (rows[i].member) continue;
      const Row* parent = findRow(rows[i].parent, count);
      rows[i].member = rows[i].parent == self_ || (parent != nullptr && parent->member);
      grew |= rows[i].member;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (!rows[i].member && !rows[i].ended && markerSize_ > 0) rows[i].member = carriesMarker(rows[i].pid);
    if (rows[i].member && !rows[i].ended) members[members_++] = rows[i].pid;
  }
  return members_;
}

}  // namespace stormlog_launcher
