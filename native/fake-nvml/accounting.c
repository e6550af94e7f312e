/* Accounting: the highest memory of each process, kept by the driver also after the process has ended. */
#include <string.h>

#include "fake.h"

static int look(const char *function, void *device, struct place *at) {
  const int code = enterDevice(function, "accounting", device, at);
  if (code != OK) return code;
  const struct gpu *gpu = &inForce()->gpus[at->gpu];
  if (gpu->accounting == ACCOUNTING_DENIED) return NO_PERMISSION;
  for (int i = 0; i < MAX_MIG; ++i)
    if (gpu->mig[i].present) return NOT_SUPPORTED;
  return gpu->accounting == ACCOUNTING_UNSUPPORTED ? NOT_SUPPORTED : OK;
}

EXPORT int nvmlDeviceGetAccountingMode(void *device, int *out) {
  struct place at;
  const int code = look(__func__, device, &at);
  if (code == OK) *out = inForce()->gpus[at.gpu].accounting == ACCOUNTING_ON;
  return code;
}

EXPORT int nvmlDeviceSetAccountingMode(void *device, int mode) {
  (void)device;
  (void)mode;
  return NO_PERMISSION;
}

/* With accounting off, a driver reports no process. */
static int statsOf(const char *function, void *device, long pid, uint64_t *peak, bool *running) {
  struct place at;
  const int code = look(function, device, &at);
  if (code != OK) return code;
  const struct scenario *s = inForce();
  if (s->gpus[at.gpu].accounting != ACCOUNTING_ON) return NOT_SUPPORTED;
  struct followed held[256];
  const int count = readFollowed(s, held, 256);
  bool known = false, followed = false;
  *peak = 0;
  *running = false;
  for (int i = 0; i < count; ++i) {
    if (held[i].pid != pid || held[i].at.gpu != at.gpu) continue;
    known = followed = true;
    *running |= held[i].alive;
    if (held[i].peak > *peak) *peak = held[i].peak;
  }
  for (int i = 0; i < s->peakCount; ++i) {
    if (s->peaks[i].gpu != at.gpu || !(s->peaks[i].pid == pid || (s->peaks[i].pid == JOB && followed))) continue;
    known = true;
    *peak = s->peaks[i].bytes;
  }
  return known ? OK : NOT_FOUND;
}

struct statsV1 {
  unsigned gpuUtilization, memoryUtilization;
  unsigned long long maxMemoryUsage, time, startTime;
  unsigned isRunning, reserved[5];
};
struct statsV2 {
  unsigned pid, isRunning, gpuUtilization, memoryUtilization;
  unsigned long long maxMemoryUsage;
  unsigned sampleCount;
  unsigned long long sumGpu, sumMemory, time, startTime;
};
_Static_assert(sizeof(struct statsV1) == 56 && sizeof(struct statsV2) == 64, "nvmlAccountingStats_t");

EXPORT int nvmlDeviceGetAccountingStats(void *device, unsigned pid, struct statsV1 *out) {
  uint64_t peak;
  bool running;
  const int code = statsOf(__func__, device, pid, &peak, &running);
  if (code != OK) return code;
  memset(out, 0, sizeof *out);
  out->maxMemoryUsage = peak;
  out->isRunning = running;
  return OK;
}

EXPORT int nvmlDeviceGetAccountingStats_v2(void *device, struct statsV2 *out) {
  uint64_t peak;
  bool running;
  const unsigned pid = out->pid;
  const int code = statsOf(__func__, device, pid, &peak, &running);
  if (code != OK) return code;
  memset(out, 0, sizeof *out);
  out->pid = pid;
  out->maxMemoryUsage = peak;
  out->isRunning = running;
  return OK;
}

EXPORT int nvmlDeviceGetAccountingPids(void *device, unsigned *count, unsigned *out) {
  struct place at;
  const int code = look(__func__, device, &at);
  if (code != OK) return code;
  const struct scenario *s = inForce();
  if (s->gpus[at.gpu].accounting != ACCOUNTING_ON) return NOT_SUPPORTED;
  unsigned pids[256 + MAX_RULES], found = 0;
  struct followed held[256];
  const int followed = readFollowed(s, held, 256);
  for (int i = 0; i < followed; ++i)
    if (held[i].at.gpu == at.gpu) pids[found++] = (unsigned)held[i].pid;
  for (int i = 0; i < s->peakCount; ++i)
    if (s->peaks[i].gpu == at.gpu && s->peaks[i].pid != JOB) pids[found++] = (unsigned)s->peaks[i].pid;
  const unsigned room = *count;
  *count = found;
  if (found > room) return INSUFFICIENT_SIZE;
  if (found > 0) memcpy(out, pids, found * sizeof *pids);
  return OK;
}

EXPORT int nvmlDeviceGetAccountingBufferSize(void *device, unsigned *out) {
  struct place at;
  const int code = look(__func__, device, &at);
  if (code == OK) *out = 4000;
  return code;
}
