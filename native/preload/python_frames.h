// The Python frames of the running thread, read as they lie in memory: nothing of Python is called but the look-up of
// the thread's state, so that it works without the interpreter's lock and within an allocation.
//
// The layout depends on the version of CPython. The probe supplies it, compares what is read with what Python itself
// reports, and only then turns this on.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "sample_table.h"

namespace stormlog_heap {

// Offsets in bytes; -1 for a step that this version does not have. The same fields in the same order are in
// probe/inject/_stormlog_probe/attribute/native.py.
struct PythonLayout {
  // PyGILState_GetThisThreadState: of this thread, whether it has the lock or not.
  uintptr_t threadState;
  // The type object of code objects.
  uintptr_t codeType;
  // From the thread's state to the pointer to its frame, or to a structure with that pointer at `viaFrame`.
  int64_t frame;
  int64_t viaFrame;
  int64_t previous;
  int64_t code;
  int64_t instruction;
  // 4 for an index, 8 for an address.
  int64_t instructionBytes;
  // A byte, which is 3 in the frames that the interpreter puts between C and Python.
  int64_t owner;
  int64_t codeFile;
  int64_t codeName;
  int64_t codeFirstLine;
};

class PythonFrames {
 public:
  // The layout must stay where it is.
  void use(const PythonLayout* layout) { layout_.store(layout, std::memory_order_release); }

  unsigned walk(PythonFrame* out, unsigned max) const {
    const PythonLayout* layout = layout_.load(std::memory_order_acquire);
    if (layout == nullptr) return 0;
    void* (*threadState)() = nullptr;
    memcpy(&threadState, &layout->threadState, sizeof threadState);
    const auto state = reinterpret_cast<uintptr_t>(threadState());
    if (state == 0) return 0;
    uintptr_t frame = word(state, layout->frame);
    if (frame != 0 && layout->viaFrame >= 0) frame = word(frame, layout->viaFrame);
    unsigned n = 0;
    // Frames of the interpreter itself have no code object; there is one for each call from C.
    for (unsigned seen = 0; frame != 0 && n < max && seen < 4 * kPythonFrames; ++seen, frame = word(frame, layout->previous)) {
      const uintptr_t code = word(frame, layout->code) & ~kReferenceTag;
      if (code == 0 || word(code, kTypeOffset) != layout->codeType) continue;
      if (layout->owner >= 0 && byteAt(frame, layout->owner) == kOwnedByStack) continue;
      PythonFrame& one = out[n++];
      one.code = code;
      one.instruction = layout->instructionBytes == 4 ? uint32At(frame, layout->instruction) : word(frame, layout->instruction);
      one.file = word(code, layout->codeFile);
      one.name = word(code, layout->codeName);
      one.firstLine = uint32At(code, layout->codeFirstLine);
    }
    return n;
  }

 private:
  // The lowest bits of a reference encode its ownership (CPython 3.14, pycore_stackref.h).
  static constexpr uintptr_t kReferenceTag = 3;
  // Offset of an object's type, after its reference count.
  static constexpr int64_t kTypeOffset = 8;
  static constexpr uint8_t kOwnedByStack = 3;
  static uintptr_t word(uintptr_t base, int64_t offset) { return *reinterpret_cast<const uintptr_t*>(base + static_cast<uintptr_t>(offset)); }
  static uint8_t byteAt(uintptr_t base, int64_t offset) { return *reinterpret_cast<const uint8_t*>(base + static_cast<uintptr_t>(offset)); }
  static uint32_t uint32At(uintptr_t base, int64_t offset) { return *reinterpret_cast<const uint32_t*>(base + static_cast<uintptr_t>(offset)); }

  std::atomic<const PythonLayout*> layout_;
};

}  // namespace stormlog_heap
