// What a thread of the measured program has of its own: no lock is taken for it.
#pragma once

#include <cstdint>

#include "call_stack.h"
#include "sampling.h"

namespace stormlog_heap {

struct Thread {
  Gap heap;
  Gap objects;
  uint64_t random;
  StackBounds stack;
  // As the probe numbers them; 0 outside of any.
  uint8_t phase;
  bool inside;
  // What Python's own allocator takes is counted there.
  bool forObjects;
};

}  // namespace stormlog_heap
