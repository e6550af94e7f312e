#include "fdinfo_scan.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace stormlog {
namespace {

constexpr unsigned kWords = FdInfoScan::kRemembered / 64;

struct Bits {
  uint64_t words[kWords] = {};
  bool has(unsigned i) const { return (words[i / 64] >> (i % 64) & 1) != 0; }
  void set(unsigned i) { words[i / 64] |= uint64_t{1} << (i % 64); }
  void clear(unsigned i) { words[i / 64] &= ~(uint64_t{1} << (i % 64)); }
};

// Distinguishes a process from a later one with its pid: /proc makes a new directory for it.
struct Identity {
  uint64_t inode = 0;
  uint64_t changedNs = 0;
  bool operator==(const Identity& other) const { return inode == other.inode && changedNs == other.changedNs; }
};

bool identityOf(const char* path, Identity& out) {
  // By system call: the C library's statx is newer than the glibc this must load on.
  struct statx info {};
  if (syscall(SYS_statx, AT_FDCWD, path, 0, STATX_INO | STATX_CTIME, &info) != 0) return false;
  out.inode = info.stx_ino;
  out.changedNs = static_cast<uint64_t>(info.stx_ctime.tv_sec) * 1000000000ULL + info.stx_ctime.tv_nsec;
  return true;
}

// "/dev/dri/renderD128" -> 128, "/dev/dri/card0" -> 0, anything else -> -1.
int minorOf(const char* target, size_t size) {
  constexpr char kDirectory[] = "/dev/dri/";
  constexpr size_t kDirectorySize = sizeof kDirectory - 1;
  if (size <= kDirectorySize || memcmp(target, kDirectory, kDirectorySize) != 0) return -1;
  const char* at = target + kDirectorySize;
  const char* end = target + size;
  for (const char* prefix : {"renderD", "card"}) {
    const size_t length = strlen(prefix);
    if (static_cast<size_t>(end - at) <= length || memcmp(at, prefix, length) != 0) continue;
    const char* digits = at + length;
    uint64_t minor = 0;
    if (parseNumber(digits, end, minor) && digits == end && minor < INT32_MAX) return static_cast<int>(minor);
  }
  return -1;
}

}  // namespace

struct FdInfoScan::Process {
  struct Device {
    unsigned fd = 0;
    int minor = -1;
    // Its fdinfo file; invalid when too many are open already.
    UniqueFd file;
  };

  // 0 = the slot was never used, kGone = its process was removed.
  int pid = 0;
  unsigned seenRound = 0;
  Identity identity;
  // One bit for each of the first descriptors: its kind is known.
  Bits looked;
  Device devices[kMaxDevices];
  size_t count = 0;
  // The errno for which the last `find` missed some of them, or 0.
  int refusedError = 0;
};

namespace {

constexpr int kGone = -1;

}  // namespace

FdInfoScan::FdInfoScan(const std::string& procRoot, size_t maxKept) : processes_(new Process[kProcesses]), maxKept_(maxKept) {
  snprintf(root_, sizeof root_, "%s", procRoot.c_str());
}

FdInfoScan::~FdInfoScan() = default;

FdInfoScan::Process* FdInfoScan::slotOf(int pid, bool make) {
  // Open addressing with linear probing; slots of removed processes do not end a chain.
  const size_t start = static_cast<uint32_t>(pid) * 2654435761u % kProcesses;
  Process* free = nullptr;
  for (size_t i = 0; i < kProcesses; ++i) {
    Process& process = processes_[(start + i) % kProcesses];
    if (process.pid == pid) return &process;
    if (process.pid <= 0 && free == nullptr) free = &process;
    if (process.pid == 0) break;
  }
  if (!make || free == nullptr) return nullptr;
  forget(*free);
  free->pid = pid;
  return free;
}

void FdInfoScan::drop(Process& process, size_t i) {
  Process::Device& device = process.devices[i];
  if (device.file) --kept_;
  device.file.reset();
  --process.count;
  if (i != process.count) device = std::move(process.devices[process.count]);
}

void FdInfoScan::forget(Process& process) {
  while (process.count > 0) drop(process, process.count - 1);
  process = Process{};
}

// False when the process has more graphics devices open than are kept.
bool FdInfoScan::look(Process& process, int directory, unsigned fd) {
  char name[16];
  snprintf(name, sizeof name, "%u", fd);
  // Long enough for every path of a graphics device; a longer target is another file.
  char target[64];
  const ssize_t n = readlinkat(directory, name, target, sizeof target);
  const int minor = n > 0 ? minorOf(target, static_cast<size_t>(n)) : -1;
  if (fd < kRemembered) process.looked.set(fd);
  for (size_t i = 0; i < process.count; ++i) {
    if (process.devices[i].fd != fd) continue;
    if (minor < 0) drop(process, i);
    else process.devices[i].minor = minor;
    return true;
  }
  if (minor < 0) return true;
  if (process.count == kMaxDevices) return false;
  process.devices[process.count].fd = fd;
  process.devices[process.count++].minor = minor;
  return true;
}

void FdInfoScan::findDevices(Process& process, FdInfoVisitor& visitor) {
  char path[600];
  snprintf(path, sizeof path, "%s/%d", root_, process.pid);
  Identity identity;
  const bool there = identityOf(path, identity);
  if (!(identity == process.identity)) {
    const int pid = process.pid;
    forget(process);
    process.pid = pid;
    process.identity = identity;
  }
  if (!there) return;
  snprintf(path, sizeof path, "%s/%d/fd", root_, process.pid);
  UniqueFd opened(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int error = opened ? 0 : errno;
  process.refusedError = 0;
  if (!opened) {
    process.refusedError = error == EACCES || error == EPERM ? error : 0;
    if (process.refusedError != 0) visitor.refused(process.pid, process.refusedError);
    return;
  }
  const int directory = opened.get();
  // PidDirectory skips 0, which is a descriptor but never a pid.
  bool complete = look(process, directory, 0);
  PidDirectory names(std::move(opened));
  unsigned looks = 0;
  for (int number = names.next(); number > 0 && complete; number = names.next()) {
    const unsigned fd = static_cast<unsigned>(number);
    if (fd < kRemembered && process.looked.has(fd) && fd % kRounds != round_ % kRounds) continue;
    complete = ++looks <= kMaxLooks && look(process, directory, fd);
  }
  if (complete) return;
  process.refusedError = EOVERFLOW;
  visitor.refused(process.pid, EOVERFLOW);
}

bool FdInfoScan::readOne(Process& process, size_t i, FdInfoVisitor& visitor) {
  Process::Device& device = process.devices[i];
  UniqueFd once;
  if (!device.file) {
    char path[600];
    snprintf(path, sizeof path, "%s/%d/fdinfo/%u", root_, process.pid, device.fd);
    once.reset(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!once) {
      if (errno == EACCES || errno == EPERM) visitor.refused(process.pid, errno);
      return false;
    }
    if (kept_ < maxKept_) {
      ++kept_;
      device.file = std::move(once);
    }
  }
  char text[8192];
  const ssize_t n = preadText(device.file ? device.file.get() : once.get(), text, sizeof text);
  FdInfo info;
  if (n <= 0 || !parseFdInfo(text, static_cast<size_t>(n), info)) return false;
  visitor.client(process.pid, device.minor, info);
  return true;
}

void FdInfoScan::readAll(Process& process, FdInfoVisitor& visitor) {
  for (size_t i = 0; i < process.count;) {
    if (readOne(process, i, visitor)) {
      ++i;
      continue;
    }
    // Closed, or the number was reused for another file.
    const unsigned fd = process.devices[i].fd;
    if (fd < kRemembered) process.looked.clear(fd);
    drop(process, i);
  }
}

void FdInfoScan::forgetUnseen() {
  for (size_t i = 0; i < kProcesses; ++i) {
    Process& process = processes_[i];
    if (process.pid <= 0 || process.seenRound == round_) continue;
    forget(process);
    process.pid = kGone;
  }
}

void FdInfoScan::find(const int* pids, size_t count, FdInfoVisitor& visitor) {
  ++round_;
  for (size_t i = 0; i < count; ++i) {
    if (pids[i] <= 0) continue;
    Process* process = slotOf(pids[i], true);
    if (process == nullptr) {
      visitor.refused(pids[i], EOVERFLOW);
      continue;
    }
    findDevices(*process, visitor);
    process->seenRound = round_;
    readAll(*process, visitor);
  }
  forgetUnseen();
}

void FdInfoScan::readAgain(const int* pids, size_t count, FdInfoVisitor& visitor) {
  for (size_t i = 0; i < count; ++i) {
    Process* process = pids[i] > 0 ? slotOf(pids[i], false) : nullptr;
    if (process == nullptr) continue;
    readAll(*process, visitor);
    if (process->refusedError != 0) visitor.refused(process->pid, process->refusedError);
  }
}

}  // namespace stormlog
