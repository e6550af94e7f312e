#include "errno_name.h"

#include <cerrno>

namespace stormlog {
namespace {

struct Row {
  int error;
  const char* name;
  const char* text;
};

constexpr Row kRows[] = {
    {EPERM, "EPERM", "operation not permitted"},
    {ENOENT, "ENOENT", "no such file or directory"},
    {ESRCH, "ESRCH", "no such process"},
    {EINTR, "EINTR", "interrupted"},
    {EIO, "EIO", "input/output error"},
    {E2BIG, "E2BIG", "argument list too long"},
    {ENOEXEC, "ENOEXEC", "not an executable format"},
    {EBADF, "EBADF", "bad file descriptor"},
    {EAGAIN, "EAGAIN", "resource temporarily unavailable"},
    {ENOMEM, "ENOMEM", "out of memory"},
    {EACCES, "EACCES", "permission denied"},
    {EFAULT, "EFAULT", "bad address"},
    {EBUSY, "EBUSY", "busy"},
    {EEXIST, "EEXIST", "file already exists"},
    {ENODEV, "ENODEV", "no such device"},
    {ENOTDIR, "ENOTDIR", "not a directory"},
    {EISDIR, "EISDIR", "is a directory"},
    {EINVAL, "EINVAL", "invalid argument"},
    {ENFILE, "ENFILE", "too many open files on this machine"},
    {EMFILE, "EMFILE", "too many open files in this process"},
    {ETXTBSY, "ETXTBSY", "file is being written"},
    {EFBIG, "EFBIG", "file too large"},
    {ENOSPC, "ENOSPC", "no space left on device"},
    {EROFS, "EROFS", "read-only file system"},
    {EPIPE, "EPIPE", "broken pipe"},
    {ERANGE, "ERANGE", "out of range"},
    {ENAMETOOLONG, "ENAMETOOLONG", "name too long"},
    {ENOSYS, "ENOSYS", "not implemented by this kernel"},
    {ELOOP, "ELOOP", "too many symbolic links"},
    {EOVERFLOW, "EOVERFLOW", "value too large"},
    {EDQUOT, "EDQUOT", "disk quota exceeded"},
    {ENOTSUP, "ENOTSUP", "not supported"},
    {ETIMEDOUT, "ETIMEDOUT", "timed out"},
};

const Row* find(int error) {
  for (const Row& row : kRows) {
    if (row.error == error) return &row;
  }
  return nullptr;
}

}  // namespace

const char* errnoName(int error) {
  const Row* row = find(error);
  return row != nullptr ? row->name : "EUNKNOWN";
}

const char* errnoText(int error) {
  const Row* row = find(error);
  return row != nullptr ? row->text : "unknown error";
}

}  // namespace stormlog
