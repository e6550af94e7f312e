#include "step_file.h"

#include <unistd.h>

#include <cerrno>

namespace stormlog {
namespace {

// Readers keep numbers as doubles, exact up to here.
constexpr uint64_t kMaxStep = (1ULL << 53) - 1;

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool parseStep(const char* at, const char* end, uint64_t& out) {
  while (at < end && isBlank(*at)) ++at;
  const char* digits = at;
  for (out = 0; at < end && *at >= '0' && *at <= '9'; ++at) {
    out = out * 10 + static_cast<uint64_t>(*at - '0');
    if (out > kMaxStep) return false;
  }
  if (at == digits) return false;
  while (at < end && isBlank(*at)) ++at;
  return at == end;
}

}  // namespace

StepFile::Answer StepFile::read() {
  if (!fd_) return Answer::kNothing;
  char text[32];
  ssize_t n;
  do {
    n = pread(fd_.get(), text, sizeof text, 0);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return Answer::kNothing;
  uint64_t step = 0;
  // A full buffer may be the start of a longer text.
  if (n == static_cast<ssize_t>(sizeof text) || !parseStep(text, text + n, step)) return Answer::kUnreadable;
  if (known_ && step == step_) return Answer::kSame;
  step_ = step;
  known_ = true;
  return Answer::kChanged;
}

}  // namespace stormlog
