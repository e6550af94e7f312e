/* A libnvidia-ml.so.1 whose devices follow a scenario file (FAKE_NVML_SCENARIO). README.md describes scenarios.
 * A scenario never changes once it is read, so threads read it without a lock; counters are atomic. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum { MAX_GPUS = 16, MAX_MIG = 8, MAX_LINES = 2048, MAX_RULES = 256, MAX_PROCESSES = 4096 };

/* nvmlReturn_t */
enum {
  OK = 0,
  UNINITIALIZED = 1,
  INVALID_ARGUMENT = 2,
  NOT_SUPPORTED = 3,
  NO_PERMISSION = 4,
  NOT_FOUND = 6,
  INSUFFICIENT_SIZE = 7,
  DRIVER_NOT_LOADED = 9,
  TIMED_OUT = 10,
  FUNCTION_NOT_FOUND = 13,
  GPU_IS_LOST = 15,
  VERSION_MISMATCH = 25
};

/* A GPU (mig -1), one of its MIG devices, or every one (gpu ANY). */
enum { ANY = -1, JOB = -1 };
struct place { int gpu, mig; };

struct memoryAt { long ms; struct place at; uint64_t used, reserved, total; };

enum processKind { COMPUTE, GRAPHICS, MPS };
enum processState { HOLDS, UNKNOWN_MEMORY, GONE };
struct processAt {
  long ms, pid;
  struct place at;
  enum processState state;
  enum processKind kind;
  uint64_t bytes;
  /* A further entry of the same pid, as drivers give inside containers. */
  bool again;
};

/* What happens to a kind of call: it fails, is delayed or blocks. `call` counts matching calls from 1; 0 = by time. */
struct rule { long ms, call, lengthMs; struct place at; int code; char function[64]; atomic_long seen; };

struct eventAt { long ms; struct place at; uint64_t type, data; };
struct peakOf { long pid; int gpu; uint64_t bytes; };

enum accounting { ACCOUNTING_OFF, ACCOUNTING_ON, ACCOUNTING_DENIED, ACCOUNTING_UNSUPPORTED };
struct migDevice { bool present; char profile[32], uuid[80]; uint64_t total; };
struct gpu {
  char model[96], uuid[80], pci[32];
  bool persistenceOff, migOnly;
  enum accounting accounting;
  int handleCode;
  struct migDevice mig[MAX_MIG];
  uint32_t remapped[4];
};

struct countAt { long ms; unsigned count; };
struct latency { long us; char function[64]; };

enum pidNamespace { PIDS_AS_THEY_ARE, PIDS_OF_HOST, PIDS_CONVERTED, PIDS_CONVERTED_WITHOUT_MEMORY };

struct scenario {
  char path[4096], directory[4096], follow[4096], calls[4096];
  char driver[80], nvml[80];
  int cuda, initCode, v2Code, api;
  long hangInitMs, attachMs;
  unsigned devices;
  atomic_long growing;
  enum pidNamespace pidns;
  int64_t startNs;
  struct gpu gpus[MAX_GPUS];
  struct memoryAt memory[MAX_LINES];
  struct processAt processes[MAX_LINES];
  struct rule errors[MAX_RULES], hangs[MAX_RULES];
  struct latency latencies[MAX_RULES];
  struct eventAt events[MAX_RULES];
  struct peakOf peaks[MAX_RULES];
  struct countAt counts[MAX_RULES];
  int memoryCount, processCount, errorCount, hangCount, latencyCount, eventCount, peakCount, countCount;
};

/* One process on one device in the `follow` file. */
struct followed { long pid; struct place at; uint64_t bytes, peak; bool alive; };

/* scenario.c */
void readScenario(struct scenario *out, const char *path);
struct place placeOf(const char *text);

/* calls.c: the scenario in force, null before init and after the last shutdown. */
struct scenario *inForce(void);
/* The common start of every call. `family` is "memory", "processes" or "". Returns OK, or the code to return. */
int enter(const char *function, const char *family, struct place at);
/* The same for a call on a device, which it looks up. */
int enterDevice(const char *function, const char *family, void *handle, struct place *at);
bool samePlace(struct place rule, struct place at);

/* handles.c */
int64_t monotonicNs(void);
long sinceInitMs(const struct scenario *s);
void waitMs(long ms);
void *handleOf(struct place at);
bool deviceOf(void *handle, struct place *out);
unsigned countNow(const struct scenario *s);

/* follow.c: at most `max` entries; 0 when nothing is followed. */
int readFollowed(const struct scenario *s, struct followed *out, int max);

/* The driver's version as a number that compares: 535.98 is 53598. */
enum { API_510 = 51000, API_535_98 = 53598 };
