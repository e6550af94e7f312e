#include "wall.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace stormlog_launcher {
namespace {

// Of Linux 5.12; the headers of older C libraries lack it.
constexpr long kMountSetattr = 442;
constexpr unsigned kRecursive = 0x8000;
constexpr uint64_t kReadOnly = 1;

struct MountAttr {
  uint64_t set;
  uint64_t clear;
  uint64_t propagation;
  uint64_t userNamespace;
};

bool writeText(const char* file, const char* text) {
  const int fd = open(file, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text, strlen(text)) == static_cast<ssize_t>(strlen(text));
  const int error = errno;
  close(fd);
  errno = error;
  return written;
}

// One id, mapped to itself.
bool mapId(const char* file, unsigned id) {
  char text[32];
  snprintf(text, sizeof text, "%u %u 1", id, id);
  return writeText(file, text);
}

// What is mounted keeps all other attributes that it has.
bool bind(char kind, const char* from, const char* to) {
  if (mount(from, to, nullptr, MS_BIND | MS_REC, nullptr) != 0) return false;
  if (kind == 'k') return true;
  MountAttr attributes = {kind == 'r' ? kReadOnly : 0, kind == 'w' ? kReadOnly : 0, 0, 0};
  return syscall(kMountSetattr, AT_FDCWD, to, kind == 'r' ? kRecursive : 0, &attributes, sizeof attributes) == 0;
}

}  // namespace

pid_t forkIntoWall(Wall wall) {
  const unsigned long flags = CLONE_NEWPID | CLONE_NEWNS | (wall == Wall::kUser ? CLONE_NEWUSER : 0) | SIGCHLD;
  // The C library's `clone` needs a stack; with none, the child goes on here as after `fork`.
  return static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, nullptr, nullptr, nullptr));
}

const char* buildWall(Wall wall, uid_t user, gid_t group, char* const* mounts, int count) {
  if (wall == Wall::kUser) {
    // Without it, an ordinary user may map no group (`man 7 user_namespaces`).
    if (!writeText("/proc/self/setgroups", "deny") || !mapId("/proc/self/gid_map", group) || !mapId("/proc/self/uid_map", user)) return "map";
  }
  char directory[PATH_MAX];
  if (getcwd(directory, sizeof directory) == nullptr) return "getcwd";
  // What the machine mounts later is seen here, and nothing that is mounted here outside.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return "propagation";
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) return "proc";
  for (int i = 0; i + 1 < count; i += 2) {
    if (!bind(mounts[i][0], mounts[i] + 1, mounts[i + 1])) return mounts[i + 1];
  }
  // The open directory lies below what was mounted over it.
  if (chdir(directory) != 0) return "chdir";
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs";
  return nullptr;
}

}  // namespace stormlog_launcher
