#include "caller.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace stormlog_launcher {
namespace {

// The kernel's limit on one process's arguments and environment is below.
constexpr size_t kMaxEnvironment = 64 * 1024 * 1024;

bool readAll(int fd, char* out, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = ::read(fd, out + done, size - done);
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
    if (n > 0) done += static_cast<size_t>(n);
  }
  return true;
}

// RLIMIT_CPU to RLIMIT_RTTIME.
constexpr int kLimits = 16;

// The text after `key` of a line; null where there is none.
const char* valueOf(const char* text, const char* key) {
  const char* at = strstr(text, key);
  return at == nullptr ? nullptr : at + strlen(key);
}

}  // namespace

bool Caller::readStatus(int pid) {
  static char text[1 << 20];
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t size = 0;
  for (ssize_t n = 1; fd >= 0 && n > 0 && size < sizeof text - 1; size += n > 0 ? static_cast<size_t>(n) : 0) {
    n = ::read(fd, text + size, sizeof text - 1 - size);
  }
  close(fd);
  text[size] = '\0';
  const char* mask = valueOf(text, "\nUmask:\t");
  const char* user = valueOf(text, "\nUid:\t");
  const char* group = valueOf(text, "\nGid:\t");
  const char* groups = valueOf(text, "\nGroups:\t");
  if (mask == nullptr || user == nullptr || group == nullptr || groups == nullptr) return false;
  mask_ = static_cast<mode_t>(strtoul(mask, nullptr, 8));
  user_ = static_cast<uid_t>(strtoul(user, nullptr, 10));
  group_ = static_cast<gid_t>(strtoul(group, nullptr, 10));
  for (char* end = nullptr; *groups != '\n' && *groups != '\0' && groupCount_ < kGroups; groups = *end == ' ' ? end + 1 : end) {
    groups_[groupCount_] = static_cast<gid_t>(strtoul(groups, &end, 10));
    if (end == groups) break;
    ++groupCount_;
  }
  return user_ != 0;
}

bool Caller::readEnvironment(int fd) {
  char digits[16];
  size_t length = 0;
  while (length < sizeof digits - 1 && readAll(fd, digits + length, 1) && digits[length] != '\n') ++length;
  digits[length] = '\0';
  const size_t size = strtoul(digits, nullptr, 10);
  if (size > kMaxEnvironment) return false;
  char* block = static_cast<char*>(malloc(size + 1));
  if (block == nullptr || !readAll(fd, block, size)) return false;
  block[size] = '\0';
  size_t count = 0;
  for (size_t i = 0; i < size; ++i) count += block[i] == '\0' ? 1 : 0;
  char** entries = static_cast<char**>(calloc(count + 1, sizeof(char*)));
  if (entries == nullptr) return false;
  for (size_t i = 0; i < count; ++i, block += strlen(block) + 1) entries[i] = block;
  environ = entries;
  return true;
}

bool Caller::read(int pid, int environmentFd) {
  known = readStatus(pid) && readEnvironment(environmentFd);
  for (int resource = 0; known && resource < kLimits; ++resource) {
    uint64_t limit[2];
    // This process has them, too, from here on.
    if (syscall(SYS_prlimit64, pid, resource, nullptr, limit) == 0) syscall(SYS_prlimit64, 0, resource, limit, nullptr);
  }
  return known;
}

bool Caller::become() const {
  umask(mask_);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing < 0 || dup2(nothing, 0) != 0) return false;
  if (nothing > 0) close(nothing);
  // The kernel hides the memory of a process that changed its user.
  return setgroups(groupCount_, groups_) == 0 && setgid(group_) == 0 && setuid(user_) == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

}  // namespace stormlog_launcher
