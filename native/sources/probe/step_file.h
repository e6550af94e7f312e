// A file into which any program may write the number of its current step, as decimal text.
#pragma once

#include <cstdint>

#include "../../support/unique_fd.h"

namespace stormlog {

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

  Answer read();

  uint64_t step() const { return step_; }

 private:
  UniqueFd fd_;
  uint64_t step_ = 0;
  bool known_ = false;
};

}  // namespace stormlog
