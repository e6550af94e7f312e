/* Reads a scenario: one line, one fact. Unknown lines are skipped. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

struct place placeOf(const char *text) {
  struct place place = {ANY, -1};
  if (*text != '*') sscanf(text, "%d.%d", &place.gpu, &place.mig);
  if (place.gpu >= MAX_GPUS || place.mig >= MAX_MIG) place.gpu = MAX_GPUS;
  return place;
}

static struct gpu *gpuOf(struct scenario *s, const char *text) {
  const struct place place = placeOf(text);
  static struct gpu nowhere;
  return place.gpu < 0 || place.gpu >= MAX_GPUS ? &nowhere : &s->gpus[place.gpu];
}

/* A file beside the scenario unless its path is absolute. */
static void pathOf(const struct scenario *s, char *out, size_t size, const char *text) {
  if (*text == '/') snprintf(out, size, "%s", text);
  else if (snprintf(out, size, "%s/%s", s->directory, text) >= (int)size) *out = '\0';
}

static void aboutGpu(struct scenario *s, const char *word, const char *gpuText, const char *rest) {
  struct gpu *gpu = gpuOf(s, gpuText);
  if (strcmp(word, "model") == 0) snprintf(gpu->model, sizeof gpu->model, "%s", rest);
  else if (strcmp(word, "uuid") == 0) snprintf(gpu->uuid, sizeof gpu->uuid, "%s", rest);
  else if (strcmp(word, "pci") == 0) snprintf(gpu->pci, sizeof gpu->pci, "%s", rest);
  else if (strcmp(word, "persistence") == 0) gpu->persistenceOff = strcmp(rest, "off") == 0;
  else if (strcmp(word, "handle-code") == 0) gpu->handleCode = atoi(rest);
  else if (strcmp(word, "accounting") == 0)
    gpu->accounting = strcmp(rest, "on") == 0            ? ACCOUNTING_ON
                      : strcmp(rest, "denied") == 0      ? ACCOUNTING_DENIED
                      : strcmp(rest, "unsupported") == 0 ? ACCOUNTING_UNSUPPORTED
                                                         : ACCOUNTING_OFF;
  else if (strcmp(word, "remapped") == 0)
    sscanf(rest, "%u %u %u %u", &gpu->remapped[0], &gpu->remapped[1], &gpu->remapped[2], &gpu->remapped[3]);
}

static void migLine(struct scenario *s, const char *line) {
  char gpu[16];
  int index;
  struct migDevice mig = {.present = true};
  unsigned long long total;
  if (sscanf(line, "mig %15s %d %31s %79s %llu", gpu, &index, mig.profile, mig.uuid, &total) != 5) return;
  mig.total = total;
  if (index >= 0 && index < MAX_MIG) gpuOf(s, gpu)->mig[index] = mig;
}

static void processLine(struct scenario *s, const char *line) {
  struct processAt p = {0};
  char gpu[16], pid[24], bytes[24], kind[16] = "compute", again[16] = "";
  if (s->processCount >= MAX_LINES) return;
  if (sscanf(line, "proc %ld %15s %23s %23s %15s %15s", &p.ms, gpu, pid, bytes, kind, again) < 4) return;
  p.at = placeOf(gpu);
  p.pid = strcmp(pid, "job") == 0 ? JOB : atol(pid);
  p.state = strcmp(bytes, "na") == 0 ? UNKNOWN_MEMORY : strcmp(bytes, "gone") == 0 ? GONE : HOLDS;
  p.bytes = strtoull(bytes, NULL, 10);
  p.kind = strcmp(kind, "graphics") == 0 ? GRAPHICS : strcmp(kind, "mps") == 0 ? MPS : COMPUTE;
  p.again = strcmp(again, "again") == 0;
  s->processes[s->processCount++] = p;
}

static void ruleLine(struct scenario *s, const char *line, const char *word) {
  char gpu[16], function[64] = "memory";
  struct rule *rule = &s->errors[s->errorCount];
  long first;
  int code;
  if (s->errorCount >= MAX_RULES) return;
  if (sscanf(line, "%*s %ld %15s %d %63s", &first, gpu, &code, function) < 3) return;
  rule->at = placeOf(gpu);
  rule->code = code;
  if (strcmp(word, "error-call") == 0) rule->call = first;
  else rule->ms = first;
  snprintf(rule->function, sizeof rule->function, "%s", function);
  s->errorCount += 1;
}

static void hangLine(struct scenario *s, const char *line) {
  struct rule *rule = &s->hangs[s->hangCount];
  if (s->hangCount >= MAX_RULES) return;
  snprintf(rule->function, sizeof rule->function, "memory");
  if (sscanf(line, "hang %ld %ld %63s", &rule->ms, &rule->lengthMs, rule->function) >= 2) s->hangCount += 1;
}

static void eventLine(struct scenario *s, const char *line) {
  char gpu[16], type[24];
  unsigned long long data = 0;
  struct eventAt *event = &s->events[s->eventCount];
  if (s->eventCount >= MAX_RULES || sscanf(line, "event %ld %15s %23s %llu", &event->ms, gpu, type, &data) < 3) return;
  event->at = placeOf(gpu);
  event->data = data;
  event->type = strcmp(type, "xid") == 0 ? 0x8 : strcmp(type, "ecc") == 0 ? 0x2 : strcmp(type, "unavailable") == 0 ? 0x4000 : 0;
  if (event->type != 0) s->eventCount += 1;
}

static void numberLine(struct scenario *s, const char *line, const char *word) {
  long a = 0;
  char gpu[16] = "", pid[24] = "", text[64] = "memory";
  unsigned long long used, reserved, total;
  unsigned count;
  if (strcmp(word, "at") == 0 && s->memoryCount < MAX_LINES) {
    if (sscanf(line, "at %ld %15s %llu %llu %llu", &a, gpu, &used, &reserved, &total) == 5)
      s->memory[s->memoryCount++] = (struct memoryAt){a, placeOf(gpu), used, reserved, total};
  } else if (strcmp(word, "peak") == 0 && s->peakCount < MAX_RULES) {
    if (sscanf(line, "peak %15s %23s %llu", gpu, pid, &used) == 3)
      s->peaks[s->peakCount++] = (struct peakOf){strcmp(pid, "job") == 0 ? JOB : atol(pid), placeOf(gpu).gpu, used};
  } else if (strcmp(word, "count") == 0 && s->countCount < MAX_RULES) {
    if (sscanf(line, "count %ld %u", &a, &count) == 2) s->counts[s->countCount++] = (struct countAt){a, count};
  } else if (strcmp(word, "latency") == 0 && s->latencyCount < MAX_RULES) {
    if (sscanf(line, "latency %ld %63s", &a, text) < 1) return;
    struct latency *latency = &s->latencies[s->latencyCount++];
    latency->us = a;
    snprintf(latency->function, sizeof latency->function, "%s", text);
  }
}

static int versionOf(const char *text) {
  int major = 0, minor = 0;
  sscanf(text, "%d.%d", &major, &minor);
  return major * 100 + minor;
}

static void aboutAll(struct scenario *s, const char *word, const char *rest) {
  if (strcmp(word, "devices") == 0) s->devices = (unsigned)atoi(rest);
  else if (strcmp(word, "init") == 0) s->initCode = atoi(rest);
  else if (strcmp(word, "hang-init") == 0) s->hangInitMs = atol(rest);
  else if (strcmp(word, "attach") == 0) s->attachMs = atol(rest);
  else if (strcmp(word, "driver") == 0) snprintf(s->driver, sizeof s->driver, "%.79s", rest);
  else if (strcmp(word, "nvml") == 0) snprintf(s->nvml, sizeof s->nvml, "%.79s", rest);
  else if (strcmp(word, "cuda") == 0) s->cuda = atoi(rest);
  else if (strcmp(word, "v2-code") == 0) s->v2Code = atoi(rest);
  else if (strcmp(word, "api") == 0) s->api = versionOf(rest);
  else if (strcmp(word, "grow") == 0) atomic_store(&s->growing, atol(rest));
  else if (strcmp(word, "follow") == 0) pathOf(s, s->follow, sizeof s->follow, rest);
  else if (strcmp(word, "calls") == 0) pathOf(s, s->calls, sizeof s->calls, rest);
  else if (strcmp(word, "mig-only") == 0)
    for (int i = 0; i < MAX_GPUS; ++i) s->gpus[i].migOnly = *rest == '\0' || atoi(rest) == i;
  else if (strcmp(word, "pidns") == 0)
    s->pidns = strcmp(rest, "host") == 0        ? PIDS_OF_HOST
               : strcmp(rest, "converted") == 0 ? PIDS_CONVERTED
               : strcmp(rest, "zero-mem") == 0  ? PIDS_CONVERTED_WITHOUT_MEMORY
                                                : PIDS_AS_THEY_ARE;
}

static void readLine(struct scenario *s, const char *line) {
  static const char *const ofGpus[] = {"model", "uuid", "pci", "persistence", "handle-code", "accounting", "remapped"};
  char word[32] = "", gpu[16] = "";
  int after = 0, afterGpu = 0;
  if (sscanf(line, "%31s %n", word, &after) < 1 || *word == '#') return;
  for (size_t i = 0; i < sizeof ofGpus / sizeof *ofGpus; ++i) {
    if (strcmp(word, ofGpus[i]) != 0) continue;
    if (sscanf(line + after, "%15s %n", gpu, &afterGpu) == 1) aboutGpu(s, word, gpu, line + after + afterGpu);
    return;
  }
  if (strcmp(word, "mig") == 0) migLine(s, line);
  else if (strcmp(word, "proc") == 0) processLine(s, line);
  else if (strcmp(word, "error") == 0 || strcmp(word, "error-call") == 0) ruleLine(s, line, word);
  else if (strcmp(word, "hang") == 0) hangLine(s, line);
  else if (strcmp(word, "event") == 0) eventLine(s, line);
  else if (strcmp(word, "at") == 0 || strcmp(word, "peak") == 0 || strcmp(word, "count") == 0 || strcmp(word, "latency") == 0)
    numberLine(s, line, word);
  else aboutAll(s, word, line + after);
}

void readScenario(struct scenario *s, const char *path) {
  memset(s, 0, sizeof *s);
  snprintf(s->path, sizeof s->path, "%s", path);
  snprintf(s->directory, sizeof s->directory, "%s", path);
  char *slash = strrchr(s->directory, '/');
  snprintf(slash == NULL ? s->directory : slash, 2, "%s", slash == NULL ? "." : "");
  snprintf(s->driver, sizeof s->driver, "580.00.00");
  s->cuda = 13000;
  s->api = 58000;
  for (int i = 0; i < MAX_GPUS; ++i) {
    snprintf(s->gpus[i].model, sizeof s->gpus[i].model, "Fake GPU %d", i);
    snprintf(s->gpus[i].uuid, sizeof s->gpus[i].uuid, "GPU-fake-%d", i);
    snprintf(s->gpus[i].pci, sizeof s->gpus[i].pci, "00000000:%02X:00.0", i + 1);
  }
  FILE *file = fopen(path, "re");
  char line[4200];
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\r\n")] = '\0';
    readLine(s, line);
  }
  if (file != NULL) fclose(file);
  if (s->devices > MAX_GPUS) s->devices = MAX_GPUS;
  if (*s->nvml == '\0') snprintf(s->nvml, sizeof s->nvml, "13.%.70s", s->driver);
}
