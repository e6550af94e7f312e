#include "procfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace stormlog {
namespace {

bool skipSpaces(const char*& at, const char* end) {
  const char* from = at;
  while (at < end && (*at == ' ' || *at == '\t')) ++at;
  return at != from;
}

// The number of a line "Name:   123".
bool lineNumber(const char* line, const char* end, const char* name, uint64_t& out) {
  const size_t size = strlen(name);
  if (static_cast<size_t>(end - line) <= size || memcmp(line, name, size) != 0 || line[size] != ':') return false;
  const char* at = line + size + 1;
  skipSpaces(at, end);
  return parseNumber(at, end, out);
}

// "Name:   123 kB" lines, as status and smaps_rollup have them, in bytes.
bool lineBytes(const char* line, const char* end, const char* name, uint64_t& out) {
  uint64_t kib = 0;
  if (!lineNumber(line, end, name, kib) || kib > UINT64_MAX / 1024) return false;
  out = kib * 1024;
  return true;
}

template <typename Visit>
void eachLine(const char* text, size_t size, Visit visit) {
  const char* end = text + size;
  while (text < end) {
    const char* stop = static_cast<const char*>(memchr(text, '\n', static_cast<size_t>(end - text)));
    if (stop == nullptr) stop = end;
    visit(text, stop);
    text = stop + 1;
  }
}

// Layout of struct linux_dirent64, which no C library header shares with the raw call.
constexpr size_t kLengthAt = 16;
constexpr size_t kNameAt = 19;

// A raw system call: the stat() wrapper of current C libraries needs a newer glibc than this must load on.
unsigned linkCountAt(int directory, const char* path, int flags) {
  struct statx info {};
  return syscall(SYS_statx, directory, path, flags, STATX_NLINK, &info) == 0 ? info.stx_nlink : 0;
}

}  // namespace

bool parseNumber(const char*& at, const char* end, uint64_t& out) {
  const char* from = at;
  uint64_t value = 0;
  while (at < end && *at >= '0' && *at <= '9') {
    const uint64_t digit = static_cast<uint64_t>(*at - '0');
    if (value > (UINT64_MAX - digit) / 10) return false;
    value = value * 10 + digit;
    ++at;
  }
  out = value;
  return at != from;
}

bool parseStatm(const char* text, size_t size, Statm& out) {
  const char* at = text;
  const char* end = text + size;
  if (!parseNumber(at, end, out.sizePages) || at == end || *at++ != ' ') return false;
  if (!parseNumber(at, end, out.residentPages) || at == end || *at++ != ' ') return false;
  return parseNumber(at, end, out.sharedPages);
}

bool parseStatus(const char* text, size_t size, Status& out) {
  out = Status{};
  eachLine(text, size, [&](const char* line, const char* end) {
    if (end - line < 6 || (line[0] != 'V' && line[0] != 'R' && line[0] != 'T')) return;
    if (lineBytes(line, end, "VmHWM", out.highWater)) out.valid |= kStatusHighWater;
    if (lineBytes(line, end, "RssAnon", out.anon)) out.valid |= kStatusAnon;
    if (lineBytes(line, end, "RssShmem", out.shmem)) out.valid |= kStatusShmem;
    if (lineBytes(line, end, "RssFile", out.file)) out.valid |= kStatusFile;
    if (lineNumber(line, end, "Threads", out.threads)) out.valid |= kStatusThreads;
  });
  return (out.valid & kStatusMemory) != 0;
}

bool parseStat(const char* text, size_t size, Stat& out) {
  // The name is in parentheses and may contain any byte, so the last ')' is the only safe anchor.
  const char* close = nullptr;
  for (const char* p = text + size; p != text;) {
    if (*--p == ')') {
      close = p;
      break;
    }
  }
  const char* end = text + size;
  if (close == nullptr || end - close < 5 || close[1] != ' ') return false;
  out.state = close[2];
  const char* at = close + 3;
  if (!skipSpaces(at, end)) return false;
  uint64_t value = 0;
  if (!parseNumber(at, end, value) || value > INT32_MAX) return false;
  out.parent = static_cast<int>(value);
  // Start time is field 22; the parent just read is field 4.
  for (int field = 5; field <= 22; ++field) {
    if (!skipSpaces(at, end)) return false;
    if (field == 22) return parseNumber(at, end, out.startTicks);
    while (at < end && *at != ' ') ++at;
  }
  return false;
}

bool parseRollup(const char* text, size_t size, Rollup& out) {
  out = Rollup{};
  uint64_t sharedHuge = 0;
  bool haveAnon = false;
  bool haveShmem = false;
  eachLine(text, size, [&](const char* line, const char* end) {
    haveAnon |= lineBytes(line, end, "Pss_Anon", out.anon);
    haveShmem |= lineBytes(line, end, "Pss_Shmem", out.shmem);
    lineBytes(line, end, "SwapPss", out.swap);
    lineBytes(line, end, "Private_Hugetlb", out.huge);
    lineBytes(line, end, "Shared_Hugetlb", sharedHuge);
  });
  out.huge += sharedHuge;
  return haveAnon && haveShmem;
}

bool findKeyValue(const char* text, size_t size, const char* key, uint64_t& out) {
  const size_t length = strlen(key);
  bool found = false;
  eachLine(text, size, [&](const char* line, const char* end) {
    if (found || static_cast<size_t>(end - line) <= length || memcmp(line, key, length) != 0) return;
    const char* at = line + length;
    if (!skipSpaces(at, end)) return;
    uint64_t value = 0;
    if (!parseNumber(at, end, value)) return;
    out = value;
    found = true;
  });
  return found;
}

ssize_t preadText(int fd, char* buffer, size_t size) {
  ssize_t n;
  do {
    n = pread(fd, buffer, size, 0);
  } while (n < 0 && errno == EINTR);
  return n;
}

unsigned linkCount(const char* path) { return linkCountAt(AT_FDCWD, path, 0); }

unsigned linkCount(int directory) { return linkCountAt(directory, "", AT_EMPTY_PATH); }

SameMemory shareMemory(int pid, int other) {
  constexpr int kKcmpVm = 1;
  const long order = syscall(SYS_kcmp, pid, other, kKcmpVm, 0, 0);
  if (order >= 0) return order == 0 ? SameMemory::kYes : SameMemory::kNo;
  // One of them is gone.
  return errno == ESRCH ? SameMemory::kNo : SameMemory::kUnknown;
}

uint64_t processCpuNs(int pid) {
  // The kernel's encoding of "scheduler clock of this process", as clock_getcpuclockid builds it.
  const clockid_t clock = static_cast<clockid_t>(~static_cast<unsigned>(pid) << 3 | 2u);
  timespec t{};
  if (clock_gettime(clock, &t) != 0) return 0;
  return static_cast<uint64_t>(t.tv_sec) * 1000000000ULL + static_cast<uint64_t>(t.tv_nsec);
}

ProcFs::ProcFs(const std::string& root) {
  snprintf(root_, sizeof root_, "%s", root.c_str());
  real_ = strcmp(root_, "/proc") == 0;
}

UniqueFd ProcFs::open(int pid, const char* name) const {
  char path[600];
  snprintf(path, sizeof path, "%s/%d/%s", root_, pid, name);
  return UniqueFd(::open(path, O_RDONLY | O_CLOEXEC));
}

UniqueFd ProcFs::openDirectory(int pid, const char* name) const {
  char path[600];
  snprintf(path, sizeof path, "%s/%d/%s", root_, pid, name);
  return UniqueFd(::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

UniqueFd ProcFs::openTop(const char* name) const {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", root_, name);
  return UniqueFd(::open(path, O_RDONLY | O_CLOEXEC));
}

UniqueFd ProcFs::openTaskFile(int pid, int tid, const char* name) const {
  char path[600];
  snprintf(path, sizeof path, "%s/%d/task/%d/%s", root_, pid, tid, name);
  return UniqueFd(::open(path, O_RDONLY | O_CLOEXEC));
}

ssize_t ProcFs::read(int pid, const char* name, char* buffer, size_t size) const {
  const UniqueFd fd = open(pid, name);
  return fd ? preadText(fd.get(), buffer, size) : -1;
}

bool ProcFs::ranSince(int pid, uint64_t& lastCpuNs) const {
  const uint64_t cpu = real_ ? processCpuNs(pid) : 0;
  const bool ran = cpu == 0 || cpu != lastCpuNs;
  lastCpuNs = cpu;
  return ran;
}

bool ProcFs::openLivingThread(int pid, UniqueFd& statm, UniqueFd& status) const {
  if (threads(pid) < 2) return false;
  PidDirectory tasks(open(pid, "task"));
  for (int tid = tasks.next(); tid != 0; tid = tasks.next()) {
    if (tid == pid) continue;
    UniqueFd opened = openTaskFile(pid, tid, "statm");
    char text[128];
    const ssize_t n = opened ? preadText(opened.get(), text, sizeof text) : -1;
    Statm parsed;
    if (n <= 0 || !parseStatm(text, static_cast<size_t>(n), parsed) || parsed.sizePages == 0) continue;
    statm = static_cast<UniqueFd&&>(opened);
    status = openTaskFile(pid, tid, "status");
    return true;
  }
  return false;
}

unsigned ProcFs::threads(int pid) const {
  char path[600];
  snprintf(path, sizeof path, "%s/%d/task", root_, pid);
  const unsigned links = linkCount(path);
  return links > 2 ? links - 2 : 0;
}

bool ProcFs::descriptors(int pid, uint64_t& out, bool& counted) const {
  char path[600];
  snprintf(path, sizeof path, "%s/%d/fd", root_, pid);
  struct statx info {};
  counted = false;
  if (real_ && syscall(SYS_statx, AT_FDCWD, path, 0, STATX_SIZE, &info) == 0 && info.stx_size > 0) {
    out = info.stx_size;
    return true;
  }
  counted = true;
  const UniqueFd directory(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return false;
  alignas(8) char entries[4096];
  long n;
  out = 0;
  while ((n = syscall(SYS_getdents64, directory.get(), entries, sizeof entries)) > 0) {
    for (long at = 0; at < n;) {
      uint16_t length = 0;
      memcpy(&length, entries + at + kLengthAt, sizeof length);
      if (entries[at + static_cast<long>(kNameAt)] != '.') ++out;
      at += length;
    }
  }
  return n == 0;
}

bool ProcFs::environContains(int pid, const char* marker, size_t markerSize, char* buffer, size_t size) const {
  if (markerSize == 0 || markerSize + 2 > size) return false;
  const UniqueFd fd = open(pid, "environ");
  if (!fd) return false;
  // One virtual NUL before the first entry and one after the last make every entry "\0NAME=value\0"; what may hold the
  // start of a match is carried over to the next read.
  buffer[0] = '\0';
  size_t filled = 1;
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer + filled, size - filled - 1);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    filled += static_cast<size_t>(n);
    const bool last = n == 0;
    if (last) buffer[filled++] = '\0';
    for (size_t i = 0; i + markerSize + 2 <= filled; ++i) {
      if (buffer[i] == '\0' && buffer[i + markerSize + 1] == '\0' && memcmp(buffer + i + 1, marker, markerSize) == 0) return true;
    }
    if (last) return false;
    const size_t keep = filled < markerSize + 1 ? filled : markerSize + 1;
    memmove(buffer, buffer + filled - keep, keep);
    filled = keep;
  }
}

int PidDirectory::next() {
  for (;;) {
    if (at_ >= filled_) {
      const long n = fd_ ? syscall(SYS_getdents64, fd_.get(), buffer_, sizeof buffer_) : 0;
      if (n <= 0) return 0;
      filled_ = static_cast<size_t>(n);
      at_ = 0;
    }
    uint16_t length = 0;
    memcpy(&length, buffer_ + at_ + kLengthAt, sizeof length);
    const char* name = buffer_ + at_ + kNameAt;
    at_ += length;
    const char* p = name;
    const char* end = name + strnlen(name, length - kNameAt);
    uint64_t pid = 0;
    if (parseNumber(p, end, pid) && p == end && pid > 0 && pid <= INT32_MAX) return static_cast<int>(pid);
  }
}

}  // namespace stormlog
