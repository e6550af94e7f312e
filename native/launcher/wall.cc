#include "wall.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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
  MountAttr attributes = {kind == 'w' ? 0 : kReadOnly, kind == 'w' ? kReadOnly : 0, 0, 0};
  return syscall(kMountSetattr, AT_FDCWD, to, kind == 'r' ? kRecursive : 0, &attributes, sizeof attributes) == 0;
}

// Numbers and flags that the headers of older C libraries lack; the same on every architecture since Linux 5.1.
constexpr uint32_t kOpenTree = 428, kMoveMount = 429, kFsmount = 432, kClone3 = 435, kOpenTreeAttr = 467;
constexpr uint32_t kNewer = 470;
constexpr long kCloseRange = 436;
constexpr unsigned kOnExec = 4;
constexpr uint32_t kNewNamespace = 2, kBeneath = 0x200, kEmptyNamespace = 0x100000;

// The calls of one architecture that have numbers of its own, and the first that is not known here.
struct Abi {
  uint32_t architecture;
  uint32_t pivotRoot;
  uint32_t unshare;
  uint32_t newer;
};
#ifdef __x86_64__
constexpr Abi kAbis[] = {{AUDIT_ARCH_X86_64, 155, 272, kNewer}, {AUDIT_ARCH_I386, 217, 310, kNewer}};
#else
// ARM has its own calls above all others.
constexpr Abi kAbis[] = {{AUDIT_ARCH_AARCH64, 41, 97, kNewer}, {AUDIT_ARCH_ARM, 218, 337, UINT32_MAX}};
#endif

constexpr uint32_t argument(size_t index) { return static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * index); }
constexpr uint32_t kCall = offsetof(seccomp_data, nr);

// The calls that leave mounts behind fail, as before the kernel had them, and so do all newer than those known here:
// what is a mount point in no mount of its namespace can be renamed by a process that opened its directory before, and
// a user has all rights in a namespace of its own.
bool keepMounts() {
  sock_filter code[96];
  unsigned short size = 0;
  const auto add = [&](int operation, uint32_t value, unsigned char yes, unsigned char no) {
    code[size++] = {static_cast<unsigned short>(operation), yes, no, value};
  };
  const auto load = [&](uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0); };
  const auto answer = [&](uint32_t action) { add(BPF_RET | BPF_K, action, 0, 0); };
  for (const Abi& abi : kAbis) {
    // In the word at `where` is one of the bits; that of a call is not 0.
    const struct {
      uint32_t call, where, bits, error;
    } refused[] = {
        {abi.pivotRoot, kCall, UINT32_MAX, EPERM},
        {kClone3, kCall, UINT32_MAX, ENOSYS},
        {abi.unshare, argument(0), kEmptyNamespace, EINVAL},
        {kOpenTree, argument(2), kNewNamespace, EINVAL},
        {kOpenTreeAttr, argument(2), kNewNamespace, EINVAL},
        {kFsmount, argument(1), kNewNamespace, EINVAL},
        {kMoveMount, argument(4), kBeneath, EINVAL},
    };
    load(offsetof(seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, abi.architecture, 0, 4 + 5 * sizeof refused / sizeof *refused);
    load(kCall);
    add(BPF_JMP | BPF_JGE | BPF_K, abi.newer, 0, 1);
    answer(SECCOMP_RET_ERRNO | ENOSYS);
    for (const auto& [call, where, bits, error] : refused) {
      add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
      load(where);
      add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
      answer(SECCOMP_RET_ERRNO | error);
      answer(SECCOMP_RET_ALLOW);
    }
    answer(SECCOMP_RET_ALLOW);
  }
  answer(SECCOMP_RET_ERRNO | ENOSYS);
  const sock_fprog program = {size, code};
  // Without the flag, some processors run the command more slowly.
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
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
  if (count == 0) return nullptr;
  // One that the gate inherited may be of a directory outside. With `PMI_FD`, the gate passes 5 on.
  if (syscall(kCloseRange, getenv("PMI_FD") != nullptr ? 6U : 3U, UINT32_MAX, kOnExec) != 0) return "descriptors";
  return keepMounts() ? nullptr : "seccomp";
}

}  // namespace stormlog_launcher
