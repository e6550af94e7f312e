/* The clock of a scenario, and the handles of its devices. */
#include <string.h>
#include <time.h>

#include "fake.h"

int64_t monotonicNs(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

long sinceInitMs(const struct scenario *s) { return (long)((monotonicNs() - s->startNs) / 1000000); }

void waitMs(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&t, &t) != 0) {
  }
}

/* A handle is the address of an element of this table. The first of each row is the GPU itself. */
static char handles[MAX_GPUS][1 + MAX_MIG];

void *handleOf(struct place at) { return &handles[at.gpu][at.mig + 1]; }

bool deviceOf(void *handle, struct place *out) {
  const char *at = handle;
  const char *first = &handles[0][0];
  if (at < first || at >= first + sizeof handles) return false;
  const int index = (int)(at - first);
  *out = (struct place){index / (1 + MAX_MIG), index % (1 + MAX_MIG) - 1};
  return true;
}

unsigned countNow(const struct scenario *s) {
  unsigned count = s->devices;
  const long now = sinceInitMs(s);
  for (int i = 0; i < s->countCount; ++i)
    if (s->counts[i].ms <= now) count = s->counts[i].count;
  return count < MAX_GPUS ? count : MAX_GPUS;
}
