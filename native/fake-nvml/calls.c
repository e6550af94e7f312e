/**
 * What every call has in common: the scenario in force, and what the scenario does to calls (time, blocking, errors).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

/* Scenarios are read into a few slots in turn, so that a thread that still follows the last one reads it intact. */
enum { PLACES = 4 };
static struct scenario places[PLACES];
static int turn;
static int users;
static _Atomic(struct scenario *) current;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

enum { MAX_FUNCTIONS = 96 };
static struct { const char *name; long count; } tally[MAX_FUNCTIONS];

struct scenario *inForce(void) { return atomic_load(&current); }

/* A call into the driver keeps its core busy. */
static void busyUs(long us) {
  const int64_t end = monotonicNs() + us * 1000;
  while (monotonicNs() < end) {
  }
}

static int start(void) {
  const char *path = getenv("FAKE_NVML_SCENARIO");
  if (path == NULL) path = "";
  pthread_mutex_lock(&mutex);
  struct scenario *s = inForce();
  /* Init is counted, as in the real library. A new scenario in the environment starts over. */
  if (s == NULL || users == 0 || strcmp(s->path, path) != 0) {
    s = &places[turn++ % PLACES];
    readScenario(s, path);
    users = 0;
    s->startNs = monotonicNs();
  }
  const int code = s->initCode;
  if (code == OK) users += 1;
  atomic_store(&current, code == OK ? s : NULL);
  pthread_mutex_unlock(&mutex);
  if (s->hangInitMs > 0) {
    waitMs(s->hangInitMs);
    s->startNs = monotonicNs();
  }
  return code;
}

EXPORT int nvmlInitWithFlags(unsigned flags) { return flags > 3 ? INVALID_ARGUMENT : start(); }
EXPORT int nvmlInit_v2(void) { return start(); }
EXPORT int nvmlInit(void) { return start(); }

static void writeTally(const struct scenario *s) {
  FILE *file = *s->calls == '\0' ? NULL : fopen(s->calls, "ae");
  if (file == NULL) return;
  for (int i = 0; i < MAX_FUNCTIONS && tally[i].name != NULL; ++i) fprintf(file, "%d %s %ld\n", (int)getpid(), tally[i].name, tally[i].count);
  fclose(file);
  memset(tally, 0, sizeof tally);
}

EXPORT int nvmlShutdown(void) {
  pthread_mutex_lock(&mutex);
  struct scenario *s = inForce();
  const int code = s == NULL ? UNINITIALIZED : OK;
  if (s != NULL && --users == 0) {
    writeTally(s);
    atomic_store(&current, NULL);
  }
  pthread_mutex_unlock(&mutex);
  return code;
}

static void count(const struct scenario *s, const char *function) {
  if (*s->calls == '\0') return;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < MAX_FUNCTIONS; ++i) {
    if (tally[i].name != NULL && strcmp(tally[i].name, function) != 0) continue;
    tally[i].name = function;
    tally[i].count += 1;
    break;
  }
  pthread_mutex_unlock(&mutex);
}

bool samePlace(struct place rule, struct place at) { return rule.gpu == ANY || (rule.gpu == at.gpu && rule.mig == at.mig); }

static bool about(const char *of, const char *function, const char *family) {
  return strcmp(of, function) == 0 || (*family != '\0' && strcmp(of, family) == 0);
}

int enter(const char *function, const char *family, struct place at) {
  struct scenario *s = inForce();
  if (s == NULL) return UNINITIALIZED;
  count(s, function);
  for (int i = 0; i < s->latencyCount; ++i)
    if (about(s->latencies[i].function, function, family)) busyUs(s->latencies[i].us);
  for (int i = 0; i < s->hangCount; ++i) {
    struct rule *hang = &s->hangs[i];
    if (!about(hang->function, function, family) || sinceInitMs(s) < hang->ms) continue;
    if (atomic_fetch_add(&hang->seen, 1) == 0) waitMs(hang->lengthMs);
  }
  /* The latest line that has begun decides; code 0 ends an error. */
  int code = OK;
  const long now = sinceInitMs(s);
  for (int i = 0; i < s->errorCount; ++i) {
    struct rule *rule = &s->errors[i];
    if (!about(rule->function, function, family) || !samePlace(rule->at, at)) continue;
    if (rule->call == 0) {
      if (rule->ms <= now) code = rule->code;
    } else if (atomic_fetch_add(&rule->seen, 1) + 1 == rule->call) {
      return rule->code;
    }
  }
  return code;
}

int enterDevice(const char *function, const char *family, void *handle, struct place *at) {
  const struct scenario *s = inForce();
  if (s == NULL) return UNINITIALIZED;
  if (!deviceOf(handle, at)) return INVALID_ARGUMENT;
  const int code = enter(function, family, *at);
  if (code != OK) return code;
  /* Removed while it was in use. */
  if (at->gpu >= (int)countNow(s)) return GPU_IS_LOST;
  if (*family != '\0' && at->mig < 0 && s->gpus[at->gpu].migOnly) return NO_PERMISSION;
  return OK;
}
