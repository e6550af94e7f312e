/* Event sets: from its creation on, each receives the scenario's events of the devices registered with it. */
#include <stdlib.h>

#include "fake.h"

struct eventSet { uint64_t types[MAX_GPUS]; long fromMs; bool reported[MAX_RULES]; };
struct eventData { void *device; unsigned long long type, data; unsigned gpuInstance, computeInstance; };
_Static_assert(sizeof(struct eventData) == 32, "nvmlEventData_t");

static const uint64_t KNOWN_TYPES = 0x8 | 0x2 | 0x4000;

EXPORT int nvmlEventSetCreate(struct eventSet **out) {
  const int code = enter(__func__, "events", (struct place){ANY, -1});
  if (code != OK) return code;
  *out = calloc(1, sizeof **out);
  if (*out != NULL) (*out)->fromMs = sinceInitMs(inForce());
  return *out == NULL ? 999 : OK;
}

EXPORT int nvmlEventSetFree(struct eventSet *set) {
  if (inForce() == NULL) return UNINITIALIZED;
  free(set);
  return OK;
}

EXPORT int nvmlDeviceGetSupportedEventTypes(void *device, unsigned long long *out) {
  struct place at;
  const int code = enterDevice(__func__, "events", device, &at);
  if (code == OK) *out = at.mig < 0 ? KNOWN_TYPES : 0;
  return code;
}

EXPORT int nvmlDeviceRegisterEvents(void *device, unsigned long long types, struct eventSet *set) {
  struct place at;
  const int code = enterDevice(__func__, "events", device, &at);
  if (code != OK) return code;
  if (at.mig >= 0 || (types & ~KNOWN_TYPES) != 0) return NOT_SUPPORTED;
  set->types[at.gpu] |= types;
  return OK;
}

/* The next event to report; -1 when none is left. */
static int next(const struct scenario *s, const struct eventSet *set) {
  int found = -1;
  for (int i = 0; i < s->eventCount; ++i) {
    const struct eventAt *event = &s->events[i];
    if (set->reported[i] || event->ms < set->fromMs || event->at.gpu < 0 || event->at.gpu >= MAX_GPUS) continue;
    if ((set->types[event->at.gpu] & event->type) == 0) continue;
    if (found < 0 || event->ms < s->events[found].ms) found = i;
  }
  return found;
}

static int await(const char *function, struct eventSet *set, struct eventData *out, unsigned timeoutMs) {
  const int code = enter(function, "events", (struct place){ANY, -1});
  if (code != OK) return code;
  const struct scenario *s = inForce();
  const long until = sinceInitMs(s) + (long)timeoutMs;
  const int index = next(s, set);
  const long due = index < 0 || s->events[index].ms > until ? until : s->events[index].ms;
  if (due > sinceInitMs(s)) waitMs(due - sinceInitMs(s));
  if (index < 0 || s->events[index].ms > until) return TIMED_OUT;
  set->reported[index] = true;
  *out = (struct eventData){handleOf(s->events[index].at), s->events[index].type, s->events[index].data, ~0u, ~0u};
  return OK;
}

EXPORT int nvmlEventSetWait(struct eventSet *set, struct eventData *out, unsigned timeoutMs) { return await(__func__, set, out, timeoutMs); }
EXPORT int nvmlEventSetWait_v2(struct eventSet *set, struct eventData *out, unsigned timeoutMs) { return await(__func__, set, out, timeoutMs); }
