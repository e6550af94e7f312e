/* Memory of a device: that of the scenario at the current time, plus that of followed processes. */
#include <string.h>

#include "fake.h"

static int now(const char *function, void *device, struct memoryAt *out) {
  struct place at;
  const int code = enterDevice(function, "memory", device, &at);
  if (code != OK) return code;
  const struct scenario *s = inForce();
  const long ms = sinceInitMs(s);
  memset(out, 0, sizeof *out);
  if (at.mig >= 0) out->total = s->gpus[at.gpu].mig[at.mig].total;
  for (int i = 0; i < s->memoryCount; ++i)
    if (s->memory[i].ms <= ms && samePlace(s->memory[i].at, at)) *out = s->memory[i];
  struct followed held[256];
  const int count = readFollowed(s, held, 256);
  for (int i = 0; i < count; ++i)
    if (held[i].alive && samePlace(held[i].at, at)) out->used += held[i].bytes;
  return OK;
}

static uint64_t freeOf(const struct memoryAt *m) {
  return m->total > m->used + m->reserved ? m->total - m->used - m->reserved : 0;
}

struct memoryV1 { uint64_t total, free, used; };
struct memoryV2 { uint32_t version; uint64_t total, reserved, free, used; };
_Static_assert(sizeof(struct memoryV1) == 24 && sizeof(struct memoryV2) == 40, "nvmlMemory_t, nvmlMemory_v2_t");

/* The older query counts the driver's reserve as used. */
EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memoryV1 *out) {
  struct memoryAt m;
  const int code = now(__func__, device, &m);
  if (code == OK) *out = (struct memoryV1){m.total, freeOf(&m), m.used + m.reserved};
  return code;
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, struct memoryV2 *out) {
  const struct scenario *s = inForce();
  if (s == NULL) return UNINITIALIZED;
  if (s->v2Code != OK) return s->v2Code;
  if (s->api < API_510) return FUNCTION_NOT_FOUND;
  if (out->version != (sizeof *out | 2u << 24)) return VERSION_MISMATCH;
  struct memoryAt m;
  const int code = now(__func__, device, &m);
  if (code == OK) *out = (struct memoryV2){out->version, m.total, m.reserved, freeOf(&m), m.used};
  return code;
}

struct bar1 { uint64_t total, free, used; };
EXPORT int nvmlDeviceGetBAR1MemoryInfo(void *device, struct bar1 *out) {
  struct place at;
  const int code = enterDevice(__func__, "", device, &at);
  if (code == OK) *out = (struct bar1){256u << 20, 255u << 20, 1u << 20};
  return code;
}
