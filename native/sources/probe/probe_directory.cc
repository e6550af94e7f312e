#include "probe_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#if defined(__linux__)
#include <sys/syscall.h>
#else
#include <dirent.h>
#endif

namespace stormlog {
namespace {

constexpr unsigned kLooksAfterChange = 2;

bool parseDigits(const char*& at, uint64_t largest, uint64_t& out) {
  const char* from = at;
  out = 0;
  while (*at >= '0' && *at <= '9') {
    out = out * 10 + static_cast<uint64_t>(*at - '0');
    if (out > largest) return false;
    ++at;
  }
  // One spelling for each number, so that a file has one name.
  return at != from && (*from != '0' || at == from + 1);
}

struct FileFacts {
  bool known = false;
  bool regular = false;
  int64_t changedS = 0;
  int64_t changedNs = 0;
};

// A raw system call on Linux: the fstat() wrapper of current C libraries needs a newer glibc than this must load on.
FileFacts factsOf(int fd) {
  FileFacts facts;
#if defined(__linux__)
  struct statx info {};
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MTIME, &info) != 0) return facts;
  facts.regular = S_ISREG(info.stx_mode);
  facts.changedS = info.stx_mtime.tv_sec;
  facts.changedNs = info.stx_mtime.tv_nsec;
#else
  struct stat info {};
  if (fstat(fd, &info) != 0) return facts;
  facts.regular = S_ISREG(info.st_mode);
  facts.changedS = info.st_mtimespec.tv_sec;
  facts.changedNs = info.st_mtimespec.tv_nsec;
#endif
  facts.known = true;
  return facts;
}

void offer(ProbeDirectory::Visitor& visitor, const char* name) {
  int pid = 0;
  uint32_t instance = 0;
  if (parseRingName(name, pid, instance)) visitor.ring(pid, instance, name);
}

}  // namespace

bool parseRingName(const char* name, int& pid, uint32_t& instance) {
  uint64_t number = 0;
  if (!parseDigits(name, INT32_MAX, number) || number == 0 || *name != '.') return false;
  pid = static_cast<int>(number);
  ++name;
  if (!parseDigits(name, UINT32_MAX, number)) return false;
  instance = static_cast<uint32_t>(number);
  return strcmp(name, ".probe") == 0;
}

int ProbeDirectory::open(const char* path) {
  fd_.reset(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd_ ? 0 : errno;
}

bool ProbeDirectory::changed() {
  const FileFacts facts = factsOf(fd_.get());
  if (!facts.known) return true;
  if (facts.changedS != changedS_ || facts.changedNs != changedNs_) {
    changedS_ = facts.changedS;
    changedNs_ = facts.changedNs;
    again_ = kLooksAfterChange;
    return true;
  }
  if (again_ == 0) return false;
  --again_;
  return true;
}

#if defined(__linux__)

bool ProbeDirectory::list(Visitor& visitor, size_t limit) {
  // struct linux_dirent64: u64 inode, i64 offset, u16 record length, u8 type, name with its NUL.
  constexpr size_t kLengthAt = 16;
  constexpr size_t kNameAt = 19;
  alignas(8) char buffer[8192];
  if (lseek(fd_.get(), 0, SEEK_SET) != 0) return true;
  for (size_t seen = 0;;) {
    const long n = syscall(SYS_getdents64, fd_.get(), buffer, sizeof buffer);
    if (n <= 0) return true;
    for (long at = 0; at < n;) {
      uint16_t length = 0;
      memcpy(&length, buffer + at + kLengthAt, sizeof length);
      if (++seen > limit) return false;
      offer(visitor, buffer + at + kNameAt);
      at += length;
    }
  }
}

#else

bool ProbeDirectory::list(Visitor& visitor, size_t limit) {
  // A separate open file description, because closing the stream must not close `fd_`.
  const int fd = openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = fd < 0 ? nullptr : fdopendir(fd);
  if (stream == nullptr) {
    if (fd >= 0) ::close(fd);
    return true;
  }
  bool whole = true;
  size_t seen = 0;
  while (const dirent* entry = readdir(stream)) {
    if (++seen > limit) {
      whole = false;
      break;
    }
    offer(visitor, entry->d_name);
  }
  closedir(stream);
  return whole;
}

#endif

UniqueFd ProbeDirectory::openFile(const char* name) const {
  // A FIFO must not block, and a terminal must not become the controlling terminal of this process.
  UniqueFd fd(openat(fd_.get(), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fd;
  const FileFacts facts = factsOf(fd.get());
  if (facts.known && !facts.regular) {
    fd.reset();
    errno = EINVAL;
  }
  return fd;
}

}  // namespace stormlog
