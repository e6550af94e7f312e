// Reading /proc (or a made-up tree of the same shape) without allocation: paths in fixed buffers, raw getdents64,
// hand-rolled parsers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../../support/unique_fd.h"

namespace stormlog {

struct Statm {
  uint64_t sizePages = 0;
  uint64_t residentPages = 0;
  uint64_t sharedPages = 0;
  bool operator==(const Statm& other) const {
    return sizePages == other.sizePages && residentPages == other.residentPages && sharedPages == other.sharedPages;
  }
};

constexpr uint8_t kStatusHighWater = 1;
constexpr uint8_t kStatusAnon = 2;
constexpr uint8_t kStatusShmem = 4;
constexpr uint8_t kStatusFile = 8;
constexpr uint8_t kStatusMemory = 15;
constexpr uint8_t kStatusThreads = 16;

struct Status {
  // Bytes; a bit of `valid` per field, because old kernels and some processes do not show them all.
  uint64_t highWater = 0;
  uint64_t anon = 0;
  uint64_t shmem = 0;
  uint64_t file = 0;
  uint64_t threads = 0;
  uint8_t valid = 0;
};

struct Stat {
  char state = '?';
  int parent = 0;
  uint64_t startTicks = 0;
};

// Proportional parts: what several processes share counts in each of them by its part. Bytes; from Linux 5.3 on.
struct Rollup {
  uint64_t anon = 0;
  uint64_t shmem = 0;
  // Not resident, and not in a kernel without swap.
  uint64_t swap = 0;
  // Huge pages of hugetlbfs, which `Pss` leaves out; those that are shared count in full.
  uint64_t huge = 0;
};

// Each parser accepts any bytes and returns false when they do not have the expected form.
bool parseNumber(const char*& at, const char* end, uint64_t& out);
bool parseStatm(const char* text, size_t size, Statm& out);
bool parseStatus(const char* text, size_t size, Status& out);
bool parseStat(const char* text, size_t size, Stat& out);
bool parseRollup(const char* text, size_t size, Rollup& out);

// The value of `key` in lines of the form "key value"; false when it is not there.
bool findKeyValue(const char* text, size_t size, const char* key, uint64_t& out);

// pread from the start, again after EINTR. Bytes read, or -1 with errno.
ssize_t preadText(int fd, char* buffer, size_t size);

// Link count of a directory (2 + its subdirectories on procfs and cgroupfs); 0 when unknown.
unsigned linkCount(const char* path);
unsigned linkCount(int directory);

// Whether two processes have one address space; unknown where the kernel does not answer (kcmp missing or not allowed).
enum class SameMemory { kNo, kYes, kUnknown };
SameMemory shareMemory(int pid, int other);

// CPU time the process has used so far, all threads together; 0 when unknown.
uint64_t processCpuNs(int pid);

class ProcFs {
 public:
  explicit ProcFs(const std::string& root);

  // True for the kernel's own /proc, where pids are real and may be asked about by system call.
  bool isReal() const { return real_; }
  const char* root() const { return root_; }

  // Opens <root>/<pid>/<name>; an invalid descriptor with errno on failure.
  UniqueFd open(int pid, const char* name) const;
  // Opens a directory with O_PATH, for its attributes only.
  UniqueFd openDirectory(int pid, const char* name) const;
  UniqueFd openTop(const char* name) const;
  UniqueFd openTaskFile(int pid, int tid, const char* name) const;

  // Opens the two files of a thread other than the main one whose statm shows memory; false where there is none.
  bool openLivingThread(int pid, UniqueFd& statm, UniqueFd& status) const;

  // Reads <root>/<pid>/<name> in one go. Bytes read, or -1 with errno.
  ssize_t read(int pid, const char* name, char* buffer, size_t size) const;

  // True when the process may have run since `lastCpuNs`, which is updated. One that did not run has not touched
  // memory.
  bool ranSince(int pid, uint64_t& lastCpuNs) const;

  // Number of threads by the link count of the task directory; 0 when unknown.
  unsigned threads(int pid) const;

  // Number of open descriptors; false when unknown. Since Linux 6.2 it is the size of the directory, and before, every
  // entry is read, which sets `counted`.
  bool descriptors(int pid, uint64_t& out, bool& counted) const;

  // True when /proc/<pid>/environ holds exactly the entry `marker` ("NAME=value"); `buffer` is scratch space.
  bool environContains(int pid, const char* marker, size_t markerSize, char* buffer, size_t size) const;

 private:
  char root_[512];
  bool real_ = false;
};

// Iterates the all-digit names of a directory.
class PidDirectory {
 public:
  explicit PidDirectory(UniqueFd fd) : fd_(std::move(fd)) {}
  bool valid() const { return static_cast<bool>(fd_); }
  // The next pid, or 0 at the end or on failure.
  int next();

 private:
  UniqueFd fd_;
  alignas(8) char buffer_[4096];
  size_t at_ = 0;
  size_t filled_ = 0;
};

}  // namespace stormlog
