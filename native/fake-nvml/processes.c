/* Lists of processes on a device, in the three layouts and with the pids that drivers report in pid namespaces. */
#include <signal.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static const uint64_t BYTES_UNKNOWN = ~(uint64_t)0;
/* Host pids as a container sees them: none of its processes has such a number. */
enum { HOST_PID_OFFSET = 5000000 };

struct entry { long pid; uint64_t bytes; int instance; };
struct list { struct entry entries[MAX_PROCESSES]; int count; };

/* On a GPU with MIG, its list holds the processes of its MIG devices too. */
static bool listed(struct place of, struct place at) { return of.gpu == at.gpu && (at.mig < 0 || of.mig == at.mig); }

static void put(struct list *list, long pid, struct place of, uint64_t bytes) {
  if (list->count < MAX_PROCESSES) list->entries[list->count++] = (struct entry){pid, bytes, of.mig < 0 ? -1 : of.mig + 1};
}

static bool isLatest(const struct scenario *s, int index, long ms) {
  const struct processAt *p = &s->processes[index];
  for (int i = index + 1; i < s->processCount; ++i) {
    const struct processAt *later = &s->processes[i];
    if (later->ms <= ms && !later->again && later->pid == p->pid && later->kind == p->kind && later->at.gpu == p->at.gpu &&
        later->at.mig == p->at.mig)
      return false;
  }
  return true;
}

/* The entry that replaces the figures of every followed process: null = none. */
static const struct processAt *entryOfJob(const struct scenario *s, struct place of, long ms) {
  const struct processAt *last = NULL;
  for (int i = 0; i < s->processCount; ++i) {
    const struct processAt *p = &s->processes[i];
    if (p->pid == JOB && !p->again && p->ms <= ms && samePlace(p->at, of)) last = p;
  }
  return last;
}

static void putFollowed(const struct scenario *s, struct list *list, struct place at, enum processKind kind, long ms) {
  struct followed *held = malloc(sizeof *held * 1024);
  const int count = held == NULL ? 0 : readFollowed(s, held, 1024);
  for (int i = 0; i < count; ++i) {
    const struct processAt *entry = entryOfJob(s, held[i].at, ms);
    if (!held[i].alive || held[i].bytes == 0 || !listed(held[i].at, at)) continue;
    if (kind != (entry == NULL ? COMPUTE : entry->kind) || (entry != NULL && entry->state == GONE)) continue;
    const uint64_t bytes = entry == NULL ? held[i].bytes : entry->state == UNKNOWN_MEMORY ? BYTES_UNKNOWN : entry->bytes;
    put(list, held[i].pid, held[i].at, bytes);
    for (int k = 0; k < s->processCount; ++k)
      if (s->processes[k].pid == JOB && s->processes[k].again && s->processes[k].kind == kind && s->processes[k].ms <= ms)
        put(list, held[i].pid, held[i].at, s->processes[k].state == UNKNOWN_MEMORY ? BYTES_UNKNOWN : s->processes[k].bytes);
  }
  free(held);
}

static bool visibleHere(long pid) { return pid > 0 && (kill((int)pid, 0) == 0 || errno == EPERM); }

static void asSeenFromHere(const struct scenario *s, struct list *list) {
  int kept = 0;
  for (int i = 0; i < list->count; ++i) {
    struct entry entry = list->entries[i];
    if (s->pidns == PIDS_OF_HOST && visibleHere(entry.pid)) entry.pid += HOST_PID_OFFSET;
    if (s->pidns == PIDS_CONVERTED || s->pidns == PIDS_CONVERTED_WITHOUT_MEMORY) {
      if (!visibleHere(entry.pid)) continue;
      if (s->pidns == PIDS_CONVERTED_WITHOUT_MEMORY) entry.bytes = 0;
    }
    list->entries[kept++] = entry;
  }
  list->count = kept;
}

static struct list *listOf(const struct scenario *s, struct place at, enum processKind kind) {
  struct list *list = malloc(sizeof *list);
  if (list == NULL) return NULL;
  list->count = 0;
  const long ms = sinceInitMs(s);
  for (int i = 0; i < s->processCount; ++i) {
    const struct processAt *p = &s->processes[i];
    if (p->pid == JOB || p->ms > ms || p->kind != kind || !listed(p->at, at)) continue;
    if (p->state == GONE || (!p->again && !isLatest(s, i, ms))) continue;
    put(list, p->pid, p->at, p->state == UNKNOWN_MEMORY ? BYTES_UNKNOWN : p->bytes);
  }
  putFollowed(s, list, at, kind, ms);
  asSeenFromHere(s, list);
  return list;
}

struct v1 { unsigned pid; uint64_t bytes; };
struct v2 { unsigned pid; uint64_t bytes; unsigned gpuInstance, computeInstance; };
struct v3 { unsigned pid; uint64_t bytes; unsigned gpuInstance, computeInstance; uint64_t protectedBytes; };
_Static_assert(sizeof(struct v1) == 16 && sizeof(struct v2) == 24 && sizeof(struct v3) == 32, "nvmlProcessInfo_t");

static void write(char *out, size_t stride, const struct entry *entry) {
  const struct v3 full = {(unsigned)entry->pid, entry->bytes, entry->instance < 0 ? ~0u : (unsigned)entry->instance,
                          entry->instance < 0 ? ~0u : 0u, 0};
  memcpy(out, &full, stride);
}

/* False when the list needs more room, which is then in `count`. */
static bool fits(struct scenario *s, const struct list *list, unsigned *count) {
  const unsigned room = *count;
  *count = (unsigned)list->count;
  if (room > 0 && atomic_load(&s->growing) > 0 && atomic_fetch_sub(&s->growing, 1) > 0) *count = room + 1;
  return *count <= room;
}

static int answer(const char *function, enum processKind kind, void *device, unsigned *count, char *out, size_t stride) {
  struct place at;
  if (count == NULL) return INVALID_ARGUMENT;
  const int code = enterDevice(function, "processes", device, &at);
  if (code != OK) return code;
  struct scenario *s = inForce();
  struct list *list = listOf(s, at, kind);
  if (list == NULL) return 999;
  const bool ok = fits(s, list, count);
  for (int i = 0; ok && i < list->count; ++i) write(out + (size_t)i * stride, stride, &list->entries[i]);
  free(list);
  return ok ? OK : INSUFFICIENT_SIZE;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses(void *d, unsigned *n, char *out) { return answer(__func__, COMPUTE, d, n, out, 16); }
EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *d, unsigned *n, char *out) { return answer(__func__, COMPUTE, d, n, out, 24); }
EXPORT int nvmlDeviceGetGraphicsRunningProcesses(void *d, unsigned *n, char *out) { return answer(__func__, GRAPHICS, d, n, out, 16); }
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v2(void *d, unsigned *n, char *out) { return answer(__func__, GRAPHICS, d, n, out, 24); }
EXPORT int nvmlDeviceGetMPSComputeRunningProcesses(void *d, unsigned *n, char *out) { return answer(__func__, MPS, d, n, out, 16); }
EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v2(void *d, unsigned *n, char *out) { return answer(__func__, MPS, d, n, out, 24); }

struct detailList { unsigned version, mode, count; struct v3 *entries; };
_Static_assert(sizeof(struct detailList) == 24, "nvmlProcessDetailList_v1_t");

EXPORT int nvmlDeviceGetRunningProcessDetailList(void *device, struct detailList *out) {
  const struct scenario *s = inForce();
  if (s == NULL) return UNINITIALIZED;
  if (s->api < API_535_98) return FUNCTION_NOT_FOUND;
  if (out->version != (sizeof *out | 1u << 24)) return VERSION_MISMATCH;
  if (out->mode > MPS) return INVALID_ARGUMENT;
  return answer(__func__, (enum processKind)out->mode, device, &out->count, (char *)out->entries, sizeof *out->entries);
}
