/* A libnvidia-ml.so.1 whose devices follow a scenario file, named by FAKE_NVML_SCENARIO and read at init:
 *   devices N              init CODE            driver TEXT
 *   latency US             every memory call takes this long
 *   hang MS LENGTH_MS      the first memory call after MS since init blocks this long
 *   hang-init LENGTH_MS    init blocks
 *   at MS GPU USED RESERVED TOTAL     memory of a device from then on (bytes)
 *   error MS GPU CODE      memory calls of a device fail with CODE from then on; CODE 0 ends it
 *   error-call N GPU CODE  only the N-th memory call of a device fails
 *   v2-code CODE           the v2 memory call always answers CODE
 * Built with FAKE_V1_ONLY there is no v2 symbol; with FAKE_NO_COUNT no way to list devices. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_DEVICES = 16, MOST_EVENTS = 256 };
enum { OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, VERSION_MISMATCH = 25 };

struct event { long ms; int gpu; int isError; int code; uint64_t used, reserved, total; };
struct callError { long call; int gpu; int code; };

static struct event events[MOST_EVENTS];
static int eventCount;
static struct callError callErrors[MOST_EVENTS];
static int callErrorCount;
static long calls[MOST_DEVICES];
static unsigned deviceCount;
static int initCode, v2Code, initialised;
static long latencyUs, hangAtMs = -1, hangMs, hangInitMs;
static char driver[64] = "580.00.00";
static struct timespec start;

static long sinceInitMs(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (t.tv_sec - start.tv_sec) * 1000 + (t.tv_nsec - start.tv_nsec) / 1000000;
}

static void waitMs(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

static void readScenario(void) {
  const char *path = getenv("FAKE_NVML_SCENARIO");
  FILE *file = path ? fopen(path, "r") : NULL;
  char line[256];
  eventCount = callErrorCount = initCode = v2Code = 0;
  latencyUs = hangMs = hangInitMs = 0;
  hangAtMs = -1;
  deviceCount = 0;
  memset(calls, 0, sizeof calls);
  while (file && fgets(line, sizeof line, file)) {
    struct event e = {0};
    struct callError c;
    unsigned long long used, reserved, total;
    if (sscanf(line, "devices %u", &deviceCount) == 1) continue;
    if (sscanf(line, "init %d", &initCode) == 1) continue;
    if (sscanf(line, "driver %63s", driver) == 1) continue;
    if (sscanf(line, "latency %ld", &latencyUs) == 1) continue;
    if (sscanf(line, "hang-init %ld", &hangInitMs) == 1) continue;
    if (sscanf(line, "hang %ld %ld", &hangAtMs, &hangMs) == 2) continue;
    if (sscanf(line, "v2-code %d", &v2Code) == 1) continue;
    if (sscanf(line, "at %ld %d %llu %llu %llu", &e.ms, &e.gpu, &used, &reserved, &total) == 5 && eventCount < MOST_EVENTS) {
      e.used = used;
      e.reserved = reserved;
      e.total = total;
      events[eventCount++] = e;
    } else if (sscanf(line, "error %ld %d %d", &e.ms, &e.gpu, &e.code) == 3 && eventCount < MOST_EVENTS) {
      e.isError = 1;
      events[eventCount++] = e;
    } else if (sscanf(line, "error-call %ld %d %d", &c.call, &c.gpu, &c.code) == 3 && callErrorCount < MOST_EVENTS) {
      callErrors[callErrorCount++] = c;
    }
  }
  if (file) fclose(file);
  if (deviceCount > MOST_DEVICES) deviceCount = MOST_DEVICES;
}

int nvmlInitWithFlags(unsigned flags) {
  (void)flags;
  readScenario();
  if (hangInitMs) waitMs(hangInitMs);
  clock_gettime(CLOCK_MONOTONIC, &start);
  initialised = initCode == OK;
  return initCode;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return OK; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { return snprintf(out, size, "%s", driver) < 0; }
#ifndef FAKE_NO_COUNT
int nvmlDeviceGetCount_v2(unsigned *count) { *count = deviceCount; return initialised ? OK : UNINITIALIZED; }
#endif
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
  if (index >= deviceCount) return INVALID_ARGUMENT;
  *out = &calls[index];
  return OK;
}
static int indexOf(void *device) { return (int)((long *)device - calls); }
int nvmlDeviceGetName(void *device, char *out, unsigned size) { return snprintf(out, size, "Fake GPU %d", indexOf(device)) < 0; }
int nvmlDeviceGetUUID(void *device, char *out, unsigned size) { return snprintf(out, size, "GPU-fake-%d", indexOf(device)) < 0; }

static int current(void *device, struct event *memory) {
  const int gpu = indexOf(device);
  const long call = ++calls[gpu];
  const long now = sinceInitMs();
  int code = OK;
  if (latencyUs) usleep((unsigned)latencyUs);
  if (hangAtMs >= 0 && now >= hangAtMs) {
    hangAtMs = -1;
    waitMs(hangMs);
  }
  for (int i = 0; i < callErrorCount; ++i) if (callErrors[i].gpu == gpu && callErrors[i].call == call) return callErrors[i].code;
  for (int i = 0; i < eventCount; ++i) {
    if (events[i].gpu != gpu || events[i].ms > now) continue;
    if (events[i].isError) code = events[i].code; else *memory = events[i];
  }
  return code;
}

struct memoryV1 { uint64_t total, free, used; };
int nvmlDeviceGetMemoryInfo(void *device, struct memoryV1 *out) {
  struct event e = {0};
  const int code = current(device, &e);
  /* The older query counts the driver's reserve as used. */
  if (code == OK) { out->total = e.total; out->used = e.used + e.reserved; out->free = e.total - e.used - e.reserved; }
  return code;
}
#ifndef FAKE_V1_ONLY
struct memoryV2 { uint32_t version; uint64_t total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(void *device, struct memoryV2 *out) {
  struct event e = {0};
  if (v2Code) return v2Code;
  if (out->version != (sizeof *out | 2u << 24)) return VERSION_MISMATCH;
  const int code = current(device, &e);
  if (code == OK) { out->total = e.total; out->used = e.used; out->reserved = e.reserved; out->free = e.total - e.used - e.reserved; }
  return code;
}
#endif
