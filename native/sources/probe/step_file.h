// A file into which any program may write the number of its current step, as decimal text.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "../../support/unique_fd.h"

namespace stormlog {

// Readers keep numbers as doubles, exact up to here.
constexpr uint64_t kMaxStep = (1ULL << 53) - 1;

inline bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

inline bool parseStep(const char* at, const char* end, uint64_t& out) {
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

class StepFile {
 public:
  enum class Answer {
    // No file, or an empty one between truncation and writing.
    kNothing,
    kSame,
    kChanged,
    kUnreadable,
  };

  // Takes over the descriptor of a regular file, or of none.
  void adopt(UniqueFd fd) { fd_ = static_cast<UniqueFd&&>(fd); }

  Answer read() {
    if (!fd_) return Answer::kNothing;
    char text[32];
    ssize_t n;
    // In one call: the rest of another step may follow in a second one.
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

  uint64_t step() const { return step_; }

 private:
  UniqueFd fd_;
  uint64_t step_ = 0;
  bool known_ = false;
};

}  // namespace stormlog
