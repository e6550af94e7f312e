// Preloaded in a run that looks for a line (never in a judged one): samples the stacks of the C heap's allocations, and
// writes those that are still live at the moments of STORMLOG_GATE_ATTRIBUTE_AT. In a Python process the probe asks for
// them; elsewhere a thread of its own does. With STORMLOG_GATE_STACKS=peak it writes the samples at the peak so far,
// and once more when the program ends.
//
// Its memory is fixed, it takes no lock, and allocates nothing. It forwards to the next definition of each function, so
// that a program with an allocator of its own keeps it.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <type_traits>

#include "call_stack.h"
#include "file_size_signal.h"
#include "heap_numbers.h"
#include "moments.h"
#include "next_allocator.h"
#include "own_thread.h"
#include "process_facts.h"
#include "python_frames.h"
#include "python_objects.h"
#include "sample_table.h"
#include "sampling.h"
#include "sampling_thread.h"
#include "stacks_file.h"

#define STORMLOG_PUBLIC extern "C" __attribute__((visibility("default")))

using namespace stormlog_heap;

namespace {

// Programs that hold less at their peak, such as a shell, leave no file.
constexpr uint64_t kMinPeakBytes = 1 << 20;
constexpr unsigned kPatienceMs = 1000;
constexpr size_t kSmall = 64 * 1024;

struct State {
  std::atomic<bool> active;
  bool wantsPeak;
  bool isPython;
  NextAllocator allocator;
  EarlyMemory early;
  CallStack calls;
  PythonFrames python;
  PythonLayout layout;
  SampleTable table;
  Peak peak;
  LiveSamples samples;
  StacksFile file;
  std::atomic_flag writing;
  // "<directory>/<pid>.<instance>", once the first document was written.
  char base[PATH_MAX];
  char directory[PATH_MAX - 64];
  Moments moments;
  Steps steps;
  OwnThread own;
};

// Without constructors: it is used before those of this library run.
State state;
static_assert(std::is_trivially_default_constructible<State>::value, "must be zero before anything runs");
// Of the C heap, and of Python's own allocator, so that many small objects leave the samples of the heap as they are.
Interval interval;
Interval objectInterval;
HeapNumbers heapNumbers;

// Bytes that the program holds, by the C library's own counters; 0 when unknown.
uint64_t heapBytes() {
  uint64_t allocated = 0;
  uint64_t reserved = 0;
  return heapNumbers.readable() && heapNumbers.read(allocated, reserved) ? allocated : 0;
}

// In the static block: the usual model allocates a thread's copy at the first use.
__thread Thread thread __attribute__((tls_model("initial-exec")));

const Next* next() { return state.allocator.get(); }

// Bytes that the heap spends on an allocation: of small ones a quarter may be rounding and the allocator's own.
size_t spentOn(void* address, size_t size) {
  if (size > kSmall || next()->usableSize == nullptr) return size;
  return next()->usableSize(address) + sizeof(size_t);
}

// Notes the allocation of `spent` bytes, of which the program asked for `size`, with its stack. `before`: the sample,
// which may be empty, of a block that became larger by these bytes; null for a new block. False: the table is full.
bool note(void* address, size_t size, size_t spent, const Sample* before, const Gap& gap, Interval& from) {
  Registers registers{};
  STORMLOG_REGISTERS(registers);
  Stack stack;
  memset(static_cast<void*>(&stack), 0, sizeof stack);
  const uintptr_t end = thread.stack.end(registers.sp);
  if (end != 0) stack.natives = static_cast<uint16_t>(state.calls.walk(registers, end, stack.native, kNativeFrames));
  stack.pythons = static_cast<uint16_t>(state.python.walk(stack.python, kPythonFrames));
  stack.objects = &gap == &thread.objects;
  const uint32_t index = state.table.stack(stack);
  const double chance = chanceOf(static_cast<double>(size) / static_cast<double>(gap.interval));
  const auto added = static_cast<uint64_t>(static_cast<double>(spent) / chance);
  const uint64_t bytes = before == nullptr ? added : before->bytes + added;
  const size_t whole = before == nullptr ? spent : next()->usableSize(address);
  const bool noted = index != SampleTable::kNone && state.table.insert(reinterpret_cast<uintptr_t>(address), {index, bytes, whole, thread.phase});
  if (state.wantsPeak) state.peak.grew(state.table.live());
  if (state.wantsPeak) from.sampled(monotonicNs, kPeakSamplesPerSecond, kPeakFirstSamples);
  else from.sampled(coarseNs, kSamplesPerSecond, 0);
  return noted;
}

// Returns whether it was sampled.
__attribute__((noinline)) bool sample(void* address, size_t size, Gap& gap, const Sample* before) {
  const int error = errno;
  const bool isHeap = &gap == &thread.heap;
  Interval& from = isHeap ? interval : objectInterval;
  thread.inside = true;
  if (thread.random == 0) thread.random = (reinterpret_cast<uintptr_t>(&thread) ^ coarseNs()) * 0x9e3779b97f4a7c15ULL | 1;
  if (gap.interval == 0) {
    // The first allocation of a thread, which may be its largest.
    gap.draw(thread.random, from);
    gap.left -= static_cast<int64_t>(size);
  }
  bool noted = false;
  if (gap.left < 0) {
    noted = note(address, size, isHeap && before == nullptr ? spentOn(address, size) : size, before, gap, from);
    gap.draw(thread.random, from);
  }
  thread.inside = false;
  errno = error;
  return noted;
}

// Returns whether it was sampled.
inline bool allocated(void* address, size_t size, Gap& gap, const Sample* before = nullptr) {
  if (!state.active.load(std::memory_order_relaxed) || address == nullptr || size == 0) return false;
  // Gaps are exponential, hence memoryless: a new one is drawn after every sample.
  gap.left -= static_cast<int64_t>(size);
  return __builtin_expect(gap.left < 0, 0) && !thread.inside && sample(address, size, gap, before);
}

inline void allocated(void* address, size_t size) {
  if (!thread.forObjects) allocated(address, size, thread.heap);
}

inline void shrinks(uintptr_t at) {
  if (state.wantsPeak && state.peak.due() && state.table.holds(at)) state.peak.shrinks(state.table, monotonicNs(), heapBytes);
}

inline void released(void* address) {
  if (!state.active.load(std::memory_order_relaxed)) return;
  const auto at = reinterpret_cast<uintptr_t>(address);
  shrinks(at);
  state.table.remove(at);
}

// Changes the size of a block that keeps its sample: what it gains counts as an allocation.
void* resized(const Next* to, void* address, size_t size) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const size_t before = to->usableSize(address);
  if (size < before) shrinks(at);
  // Before another thread may get the old address. Where the call fails, the sample is lost.
  Sample held{};
  const bool isSampled = state.table.remove(at, &held);
  void* moved = to->realloc(address, size);
  if (moved == nullptr) return moved;
  const size_t after = to->usableSize(moved);
  if (after > before && allocated(moved, after - before, thread.heap, &held)) return moved;
  if (!isSampled) return moved;
  if (after < before) held.bytes = static_cast<uint64_t>(static_cast<double>(held.bytes) * static_cast<double>(after) / static_cast<double>(before));
  held.size = after;
  state.table.insert(reinterpret_cast<uintptr_t>(moved), held);
  return moved;
}

struct ObjectWatch {
  static void enter() { thread.forObjects = true; }
  static void leave() { thread.forObjects = false; }
  static void allocated(void* address, size_t size) { ::allocated(address, size, thread.objects); }
  static void released(void* address) { ::released(address); }
};
PythonObjects<ObjectWatch> pythonObjects;

// `patienceMs`: for the end of another thread's document.
bool writeMoment(const char* path, uint64_t moment, int64_t step, unsigned patienceMs = 0) {
  const FileSizeSignal blocked;
  for (; state.writing.test_and_set(std::memory_order_acquire); --patienceMs) {
    if (patienceMs == 0) return false;
    const timespec t{0, 1000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
  }
  if (state.wantsPeak) state.peak.read(state.samples, state.table, monotonicNs(), heapBytes);
  else state.samples.read(state.table, monotonicNs());
  // The step of the peak is not known, and what was touched then neither.
  const bool written = state.file.write(path, state.table, state.samples, {moment, state.wantsPeak ? -1 : step, interval.bytes(), !state.wantsPeak});
  state.writing.clear(std::memory_order_release);
  return written;
}

bool writeOwn(uint64_t moment, int64_t step, unsigned patienceMs = 0) {
  Text path;
  if (state.base[0] == '\0') {
    // Marks the name as taken.
    const int fd = claimFile(state.directory, ".native", O_WRONLY, path);
    if (fd < 0) return false;
    close(fd);
    if (path.size() >= sizeof state.base) return false;
    memcpy(state.base, path.text(), path.size() + 1);
    path.clear();
  }
  path.add(state.base).add(".native.").add(moment).add(".json");
  return !path.cut() && writeMoment(path.text(), moment, step, patienceMs);
}

// Most processes of a build or a shell script allocate next to nothing, and leave no file.
bool isWorthAFile() { return state.wantsPeak ? state.peak.highest() >= kMinPeakBytes : state.table.any(); }

void run() {
  thread.inside = true;
  const auto write = [](unsigned moment, int64_t step) { return !isWorthAFile() || writeOwn(moment, step); };
  state.moments.await(state.steps, state.own, write);
  thread.inside = false;
}

// The samples of the parent are those of the child, too; its files and its thread are not. At a peak they count once:
// the child shares this memory with its parent.
void afterFork() {
  const int error = errno;
  state.base[0] = '\0';
  state.writing.clear(std::memory_order_release);
  if (state.wantsPeak) {
    state.table.clear();
    state.peak.clear();
  }
  if (state.moments.count() != 0) {
    state.moments.skipOver(state.steps);
    state.own.startAfterFork(&run);
  }
  errno = error;
}

__attribute__((constructor)) void begin() {
  const int error = errno;
  const char* directory = getenv("STORMLOG_GATE_PROBE_DIR");
  const char* wanted = getenv("STORMLOG_GATE_STACKS");
  if (directory != nullptr && directory[0] == '/' && strlen(directory) < sizeof state.directory && wanted != nullptr && (strcmp(wanted, "1") == 0 || strcmp(wanted, "peak") == 0)) {
    strcpy(state.directory, directory);
    state.wantsPeak = wanted[0] == 'p';
    void* find = dlsym(RTLD_DEFAULT, "_dl_find_object");
    FindObject finder = nullptr;
    memcpy(&finder, &find, sizeof find);
    // Without it (glibc before 2.35, another C library) no module can be found without a lock.
    if (finder != nullptr && next() != nullptr && next()->malloc != nullptr && next()->free != nullptr) {
      state.calls.begin(finder);
      if (state.wantsPeak) {
        void* allocator = nullptr;
        memcpy(&allocator, &next()->malloc, sizeof allocator);
        heapNumbers.find(allocator);
      }
      // There the probe requests the documents, including the last.
      state.isPython = dlsym(RTLD_DEFAULT, "Py_GetVersion") != nullptr;
      state.moments.begin(state.isPython ? nullptr : getenv("STORMLOG_GATE_ATTRIBUTE_AT"), state.directory);
      state.steps.begin(state.directory);
      state.moments.skipOver(state.steps);
      state.own.begin("stormlog_heap_threads");
      // A program may later have no right to open a file (seccomp).
      thread.stack.end(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
      state.active.store(true, std::memory_order_release);
      if (pthread_atfork(nullptr, nullptr, &afterFork) == 0 && state.moments.count() != 0) state.own.start(&run);
    }
  }
  errno = error;
}

__attribute__((destructor)) void end() {
  if (!state.active.load(std::memory_order_acquire) || !state.wantsPeak || state.isPython || !isWorthAFile()) return;
  const int error = errno;
  thread.inside = true;
  writeOwn(state.moments.count(), -1, kPatienceMs);
  errno = error;
}

}  // namespace

// Returns 1 while the library samples.
STORMLOG_PUBLIC int stormlog_stacks_state() { return state.active.load(std::memory_order_acquire) ? 1 : 0; }

// Threads of this library in the process.
STORMLOG_PUBLIC unsigned stormlog_stacks_threads() { return state.own.running(); }

// Reads Python's frames by this layout from now on; null: no longer.
STORMLOG_PUBLIC void stormlog_stacks_python(const PythonLayout* layout) {
  state.python.use(nullptr);
  if (layout == nullptr) return;
  state.layout = *layout;
  state.python.use(&state.layout);
}

// Samples what Python's own allocator gives out, too, from now on; 1 when it does. With the interpreter's lock.
STORMLOG_PUBLIC int stormlog_stacks_objects() {
  static std::atomic_flag called = ATOMIC_FLAG_INIT;
  if (called.test_and_set()) return 1;
  return state.active.load(std::memory_order_acquire) && !state.wantsPeak && pythonObjects.watch() ? 1 : 0;
}

// The Python frames of the caller by `layout`, for a comparison with what Python reports. Returns their number.
STORMLOG_PUBLIC unsigned stormlog_stacks_frames(const PythonLayout* layout, PythonFrame* out, unsigned max) {
  PythonFrames frames;
  frames.use(layout);
  return frames.walk(out, max);
}

// 1 when the document of this moment was written.
STORMLOG_PUBLIC int stormlog_stacks_write(const char* path, uint64_t moment, int64_t step) {
  if (!state.active.load(std::memory_order_acquire)) return 0;
  return writeMoment(path, moment, step) ? 1 : 0;
}

// What this thread allocates from now on belongs to this phase. `begins`: a model is called from outside of any other.
STORMLOG_PUBLIC void stormlog_stacks_phase(unsigned phase, int begins) {
  thread.phase = static_cast<uint8_t>(phase);
  if (begins != 0) state.table.beginCall();
}

// The memory at these addresses is of this category; memory from within a phase up to `within` is left out.
STORMLOG_PUBLIC void stormlog_stacks_categorize(const uint64_t* addresses, size_t count, unsigned category, unsigned within) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t at = state.table.indexOf(static_cast<uintptr_t>(addresses[i]));
    if (at == SampleTable::kNone) continue;
    const uint8_t phase = state.table.phaseOf(at);
    if (phase != 0 && phase <= within) continue;
    state.table.categorize(at, static_cast<uint8_t>(category));
    if (state.wantsPeak) state.peak.categorize(state.table, at, static_cast<uint8_t>(category));
  }
}

STORMLOG_PUBLIC void* malloc(size_t size) {
  const Next* to = next();
  if (to == nullptr) return state.early.bytes(size);
  void* address = to->malloc(size);
  allocated(address, size);
  return address;
}

STORMLOG_PUBLIC void* calloc(size_t count, size_t size) {
  const Next* to = next();
  if (to == nullptr) {
    size_t whole = 0;
    // Static memory is zero.
    return __builtin_mul_overflow(count, size, &whole) ? nullptr : state.early.bytes(whole);
  }
  void* address = to->calloc(count, size);
  allocated(address, count * size);
  return address;
}

STORMLOG_PUBLIC void free(void* address) {
  if (address == nullptr || state.early.has(address)) return;
  released(address);
  if (const Next* to = next()) to->free(address);
}

STORMLOG_PUBLIC void* realloc(void* address, size_t size) {
  if (address == nullptr) return malloc(size);
  const Next* to = next();
  if (state.early.has(address) || to == nullptr) {
    const size_t old = state.early.has(address) ? EarlyMemory::sizeOf(address) : 0;
    void* moved = malloc(size);
    if (moved != nullptr) memcpy(moved, address, old < size ? old : size);
    return moved;
  }
  if (state.active.load(std::memory_order_relaxed) && !thread.forObjects && to->usableSize != nullptr) return resized(to, address, size);
  released(address);
  return to->realloc(address, size);
}

static void* aligned(void* (*Next::*function)(size_t, size_t), size_t alignment, size_t size) {
  const Next* to = next();
  if (to == nullptr || to->*function == nullptr) return nullptr;
  void* address = (to->*function)(alignment, size);
  allocated(address, size);
  return address;
}

STORMLOG_PUBLIC void* memalign(size_t alignment, size_t size) { return aligned(&Next::memalign, alignment, size); }
STORMLOG_PUBLIC void* aligned_alloc(size_t alignment, size_t size) { return aligned(&Next::alignedAlloc, alignment, size); }

STORMLOG_PUBLIC int posix_memalign(void** out, size_t alignment, size_t size) {
  const Next* to = next();
  if (to == nullptr || to->posixMemalign == nullptr) return ENOMEM;
  const int result = to->posixMemalign(out, alignment, size);
  if (result == 0) allocated(*out, size);
  return result;
}
