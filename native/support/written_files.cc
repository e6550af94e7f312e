#include "written_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <linux/memfd.h>

#include "unique_fd.h"

namespace stormlog {
namespace {

constexpr uint64_t kMaxBytes = 64ULL << 20;

// A raw system call, as below: the wrappers of current C libraries need a newer glibc than this must load on.
bool factsOf(int directory, const char* path, int flags, struct statx& out) {
  return syscall(SYS_statx, directory, path, flags, STATX_TYPE | STATX_MODE | STATX_UID | STATX_SIZE, &out) == 0;
}

bool writeAll(int fd, const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

bool writtenByOthersOnly(const std::string& path) {
  const unsigned user = geteuid();
  if (user == 0) return true;
  std::string at = path;
  for (bool file = true;; file = false) {
    struct statx facts {};
    if (!factsOf(AT_FDCWD, at.c_str(), AT_SYMLINK_NOFOLLOW, facts) || facts.stx_uid == user) return false;
    // In a directory like /tmp every user may add names, and only their owners may replace them.
    const bool sticky = !file && (facts.stx_mode & S_ISVTX) != 0;
    if (!sticky && ::access(at.c_str(), W_OK) == 0) return false;
    if (at == "/") return true;
    const size_t slash = at.rfind('/');
    at = slash == 0 ? "/" : at.substr(0, slash);
  }
}

std::string contentOf(const std::string& path) {
  // Non-blocking, so that opening a FIFO does not wait for its writer.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct statx facts {};
  if (!fd || !factsOf(fd.get(), "", AT_EMPTY_PATH, facts) || !S_ISREG(facts.stx_mode) || facts.stx_size > kMaxBytes) return "";
  std::string bytes(static_cast<size_t>(facts.stx_size), '\0');
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t n = ::read(fd.get(), &bytes[filled], bytes.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return "";
    filled += static_cast<size_t>(n);
  }
  return bytes;
}

int sealedCopy(const std::string& path) {
  const std::string bytes = contentOf(path);
  if (bytes.empty()) return -1;
  UniqueFd copy(static_cast<int>(syscall(SYS_memfd_create, "stormlog-library", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (!copy || !writeAll(copy.get(), bytes) || ::fcntl(copy.get(), F_ADD_SEALS, kSeals) != 0) return -1;
  return ::dup(copy.get());
}

}  // namespace stormlog
