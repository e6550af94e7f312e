// Preloaded into a glibc program (LD_PRELOAD), records its heap: a thread writes the allocator's counters 50 times a
// second into a ring that the sampler reads (../probe_ring.h). For programs without Python, whose probe does the same.
//
// It allocates nothing, takes no signal, prints nothing, and does nothing at all where a function is missing. It must
// not need new symbols of the C library, nor the C++ library.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "../probe_ring.h"
#include "file_size_signal.h"
#include "heap_numbers.h"
#include "own_thread.h"
#include "process_facts.h"

using namespace stormlog;
using namespace stormlog_heap;

namespace {

constexpr uint32_t kCapacity = 2048;
constexpr size_t kRingBytes = kProbeHeaderBytes + size_t{kCapacity} * kProbeRecordBytes;
// Most processes of a build or a shell script end sooner than this, and leave no file.
constexpr uint64_t kFirstLookNs = 10 * kMillisecond;
// A loop may count its steps a million times a second; records of them are written at most this often.
constexpr uint64_t kStepGapNs = 1 * kMillisecond;
// Reading the allocator's numbers walks its free lists under its lock: never more than this share of the time.
constexpr uint64_t kTimerShare = 100;
constexpr uint64_t kStepShare = 20;
// The cost counts at most so many times as that of the reading before: what a stolen processor or cold pages add to a
// few readings delays no other.
constexpr uint64_t kJump = 4;
constexpr uint64_t kMinCostNs = 15 * kMicrosecond;
constexpr size_t kStackBytes = 128 * 1024;

// Everything below is written by one thread at a time, which holds `busy`. Only the end of the process waits for it.
struct State {
  char directory[PATH_MAX];
  HeapNumbers heap;
  ProcessFacts facts;
  OwnThread thread;
  uint64_t periodNs;
  // The process that owns this state. It differs in a child that was forked without fork handlers.
  std::atomic<int> pid;
  std::atomic<bool> active;
  std::atomic_flag busy;
  std::atomic<char*> ring;
  // Creating the ring failed and is not tried again.
  bool failed;
  uint64_t costNs;
  uint64_t lastStepNs;
};

State state{};

ProbeHeader& headerOf(char* ring) { return *reinterpret_cast<ProbeHeader*>(ring); }

bool tryLock() { return !state.busy.test_and_set(std::memory_order_acquire); }
void unlock() { state.busy.clear(std::memory_order_release); }

// <directory>/<pid>.<first free number>.probe and its .info
char* makeRing() {
  Text path;
  const int fd = claimFile(state.directory, ".probe", O_RDWR, path);
  if (fd < 0) return nullptr;
  // Allocated, not only sized: touching a hole of a full disk would end the program with SIGBUS.
  void* map = posix_fallocate(fd, 0, static_cast<off_t>(kRingBytes)) == 0
                  ? mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                  : MAP_FAILED;
  // The program may close every descriptor it does not know, and use its number for a file of its own.
  close(fd);
  if (map == MAP_FAILED) {
    unlink(path.add(".probe").text());
    return nullptr;
  }
  state.facts.writeInfo(path, state.heap.name());
  return static_cast<char*>(map);
}

char* ensureRing() {
  char* ring = state.ring.load(std::memory_order_relaxed);
  if (ring != nullptr || state.failed) return ring;
  {
    const FileSizeSignal blocked;
    ring = makeRing();
  }
  if (ring == nullptr) {
    state.failed = true;
    return nullptr;
  }
  ProbeHeader& header = headerOf(ring);
  header.headerBytes = kProbeHeaderBytes;
  header.recordBytes = kProbeRecordBytes;
  header.capacity = kCapacity;
  header.pid = getpid();
  header.createdNs = monotonicNs();
  header.flags = state.heap.readable() ? uint32_t{kProbeHeapReadable} : 0;
  header.state = kProbeAttached;
  header.rank = state.facts.rank;
  header.localRank = state.facts.localRank;
  header.worldSize = state.facts.worldSize;
  header.role = state.facts.role;
  header.parent = getppid();
  // Last: a reader takes the file for a ring from now on.
  uint64_t magic = 0;
  memcpy(&magic, kProbeMagic, sizeof magic);
  __atomic_store_n(reinterpret_cast<uint64_t*>(header.magic), magic, __ATOMIC_RELEASE);
  state.ring.store(ring, std::memory_order_release);
  return ring;
}

// Requires the lock and a ring.
void writeRecord(char* ring, uint16_t reason, uint64_t timeNs) {
  ProbeHeader& header = headerOf(ring);
  ProbeRecord record{};
  record.timeNs = timeNs;
  record.reason = reason;
  const bool step = (header.flags & kProbeStepsSeen) != 0;
  if (step) {
    record.v[kProbeStepNumber] = __atomic_load_n(&header.step, __ATOMIC_RELAXED);
    record.valid = 1 << kProbeStepNumber;
  }
  uint64_t allocated = 0;
  uint64_t reserved = 0;
  // CPU time alone: on a busy machine a thread often waits, which is not a cost of the reading.
  const uint64_t before = threadCpuNs();
  if (state.heap.read(allocated, reserved)) {
    record.deviceKind = kProbeHostHeap;
    record.v[kProbeAllocated] = allocated;
    record.v[kProbeReserved] = reserved;
    record.valid = static_cast<uint16_t>(record.valid | 1 << kProbeAllocated | 1 << kProbeReserved);
    const uint64_t took = threadCpuNs() - before;
    const uint64_t most = kJump * (state.costNs > kMinCostNs ? state.costNs : kMinCostNs);
    state.costNs = took < most ? took : most;
  } else if (!step || reason == kProbeTimer) {
    return;
  }
  const uint64_t index = header.head;
  ProbeRecord& place = reinterpret_cast<ProbeRecord*>(ring + kProbeHeaderBytes)[index & (kCapacity - 1)];
  // A reader takes the record only when both numbers are its own: the first goes away before anything changes and comes
  // back last.
  __atomic_store_n(&place.seq, uint64_t{0}, __ATOMIC_RELAXED);
  std::atomic_thread_fence(std::memory_order_release);
  memcpy(reinterpret_cast<char*>(&place) + sizeof place.seq, reinterpret_cast<char*>(&record) + sizeof record.seq,
         sizeof record - sizeof record.seq);
  __atomic_store_n(&place.seqEnd, index + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&place.seq, index + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&header.head, index + 1, __ATOMIC_RELEASE);
}

void run() {
  uint64_t wait = kFirstLookNs;
  for (;;) {
    if (state.thread.sleep(wait)) return;
    wait = state.periodNs;
    if (!state.active.load(std::memory_order_acquire)) return;
    // Another thread is reporting a step, which takes a sample as well.
    if (!tryLock()) continue;
    char* ring = ensureRing();
    if (ring != nullptr) writeRecord(ring, kProbeTimer, monotonicNs());
    const bool failed = state.failed;
    if (state.costNs * kTimerShare > wait) wait = state.costNs * kTimerShare;
    unlock();
    if (failed) return;
  }
}

// The ring is the parent's; its thread does not exist here.
void forgetParent() {
  state.ring.store(nullptr, std::memory_order_relaxed);
  state.failed = false;
  state.costNs = 0;
  state.lastStepNs = 0;
  if (state.facts.rank >= 0) state.facts.role = 3;
  state.pid.store(getpid(), std::memory_order_relaxed);
  state.busy.clear(std::memory_order_release);
}

void afterFork() {
  if (!state.active.load(std::memory_order_relaxed)) return;
  const int error = errno;
  char* inherited = state.ring.load(std::memory_order_relaxed);
  forgetParent();
  if (inherited != nullptr) munmap(inherited, kRingBytes);
  state.thread.startAfterFork(&run, kStackBytes);
  errno = error;
}

bool isPython() { return dlsym(RTLD_DEFAULT, "Py_GetVersion") != nullptr || dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr; }

__attribute__((constructor)) void begin() {
  const int error = errno;
  const char* directory = getenv("STORMLOG_GATE_PROBE_DIR");
  if (directory != nullptr && directory[0] == '/' && strlen(directory) < sizeof state.directory && !isPython()) {
    strcpy(state.directory, directory);
    const uint64_t ms = numberOf(getenv("STORMLOG_GATE_PROBE_MS"), 20);
    state.periodNs = (ms < 1 ? 1 : ms > 1000 ? 1000 : ms) * kMillisecond;
    state.heap.find();
    state.facts.look();
    state.thread.begin("stormlog_stacks_threads");
    state.pid.store(getpid(), std::memory_order_relaxed);
    state.active.store(true, std::memory_order_release);
    if (pthread_atfork(nullptr, nullptr, &afterFork) == 0) state.thread.start(&run, kStackBytes);
    else state.active.store(false, std::memory_order_release);
  }
  errno = error;
}

__attribute__((destructor)) void end() {
  if (!state.active.exchange(false, std::memory_order_acq_rel) || state.pid.load(std::memory_order_relaxed) != getpid()) return;
  // The lock is held for microseconds. Where it is not released, the end is not written.
  for (int i = 0; i < 1000; ++i) {
    if (!tryLock()) {
      sched_yield();
      continue;
    }
    char* ring = state.ring.load(std::memory_order_relaxed);
    if (ring != nullptr) {
      writeRecord(ring, kProbeEnd, monotonicNs());
      __atomic_store_n(&headerOf(ring).state, static_cast<uint32_t>(kProbeEnded), __ATOMIC_RELEASE);
    }
    // Kept locked: nothing is written any more.
    return;
  }
}

}  // namespace

// The program reports its current step. Cheap enough for every step of any loop; never waits.
extern "C" __attribute__((visibility("default"))) void stormlog_gate_step(uint64_t step) {
  if (!state.active.load(std::memory_order_acquire)) return;
  const int error = errno;
  if (state.pid.load(std::memory_order_relaxed) != getpid()) forgetParent();
  if (!tryLock()) {
    char* ring = state.ring.load(std::memory_order_acquire);
    if (ring != nullptr) __atomic_store_n(&headerOf(ring).step, step, __ATOMIC_RELAXED);
    return;
  }
  char* ring = ensureRing();
  if (ring != nullptr) {
    ProbeHeader& header = headerOf(ring);
    __atomic_store_n(&header.step, step, __ATOMIC_RELAXED);
    __atomic_store_n(&header.flags, header.flags | kProbeStepsSeen, __ATOMIC_RELEASE);
    const uint64_t now = monotonicNs();
    const uint64_t gap = state.costNs * kStepShare > kStepGapNs ? state.costNs * kStepShare : kStepGapNs;
    if (now - state.lastStepNs >= gap) {
      state.lastStepNs = now;
      writeRecord(ring, kProbeStep, now);
    }
  }
  unlock();
  errno = error;
}

// The step that was reported last; 0 before the first.
extern "C" __attribute__((visibility("default"))) uint64_t stormlog_gate_last_step() {
  char* ring = state.ring.load(std::memory_order_acquire);
  return ring == nullptr ? 0 : __atomic_load_n(&headerOf(ring).step, __ATOMIC_RELAXED);
}

// Threads of this library in the process.
extern "C" __attribute__((visibility("default"))) unsigned stormlog_heap_threads() { return state.thread.running(); }
