/* Identity and attributes of a device. */
#include <stdio.h>
#include <string.h>

#include "fake.h"

EXPORT int nvmlDeviceGetCount_v2(unsigned *out) {
  const int code = enter(__func__, "", (struct place){ANY, -1});
  if (code == OK) *out = countNow(inForce());
  return code;
}
EXPORT int nvmlDeviceGetCount(unsigned *out) { return nvmlDeviceGetCount_v2(out); }

static int attach(const char *function, int gpu, void **out) {
  struct scenario *s = inForce();
  if (s == NULL) return UNINITIALIZED;
  if (gpu < 0 || gpu >= (int)countNow(s)) return INVALID_ARGUMENT;
  const int code = enter(function, "", (struct place){gpu, -1});
  if (code != OK) return code;
  if (s->gpus[gpu].handleCode != OK) return s->gpus[gpu].handleCode;
  /* Without persistence the first client of a GPU waits until it is up. */
  if (s->gpus[gpu].persistenceOff && s->attachMs > 0) waitMs(s->attachMs);
  *out = handleOf((struct place){gpu, -1});
  return OK;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) { return attach(__func__, (int)index, out); }
EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, void **out) { return nvmlDeviceGetHandleByIndex_v2(index, out); }

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **out) {
  const struct scenario *s = inForce();
  if (s == NULL) return UNINITIALIZED;
  for (int gpu = 0; gpu < (int)countNow(s); ++gpu) {
    if (strcmp(s->gpus[gpu].uuid, uuid) == 0) return attach(__func__, gpu, out);
    for (int i = 0; i < MAX_MIG; ++i) {
      if (!s->gpus[gpu].mig[i].present || strcmp(s->gpus[gpu].mig[i].uuid, uuid) != 0) continue;
      *out = handleOf((struct place){gpu, i});
      return OK;
    }
  }
  return NOT_FOUND;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **out) {
  const struct scenario *s = inForce();
  if (s == NULL) return UNINITIALIZED;
  const size_t given = strlen(bus);
  for (int gpu = 0; gpu < (int)countNow(s); ++gpu) {
    /* The domain may have four digits or eight. */
    const char *own = s->gpus[gpu].pci;
    const size_t length = strlen(own);
    if (given >= 7 && given <= length && strcmp(own + length - given, bus) == 0) return attach(__func__, gpu, out);
  }
  return NOT_FOUND;
}

static const struct migDevice *migOf(const struct scenario *s, struct place at) {
  return at.mig < 0 ? NULL : &s->gpus[at.gpu].mig[at.mig];
}

EXPORT int nvmlDeviceGetName(void *device, char *out, unsigned size) {
  struct place at;
  const int code = enterDevice(__func__, "", device, &at);
  if (code != OK) return code;
  const struct migDevice *mig = migOf(inForce(), at);
  const char *model = inForce()->gpus[at.gpu].model;
  const int length = mig == NULL ? snprintf(out, size, "%s", model) : snprintf(out, size, "%s MIG %s", model, mig->profile);
  return length >= (int)size ? INSUFFICIENT_SIZE : OK;
}

EXPORT int nvmlDeviceGetUUID(void *device, char *out, unsigned size) {
  struct place at;
  const int code = enterDevice(__func__, "", device, &at);
  if (code != OK) return code;
  const struct migDevice *mig = migOf(inForce(), at);
  const int length = snprintf(out, size, "%s", mig == NULL ? inForce()->gpus[at.gpu].uuid : mig->uuid);
  return length >= (int)size ? INSUFFICIENT_SIZE : OK;
}

EXPORT int nvmlDeviceGetIndex(void *device, unsigned *out) {
  struct place at;
  const int code = enterDevice(__func__, "", device, &at);
  if (code == OK) *out = (unsigned)(at.mig < 0 ? at.gpu : at.mig);
  return code;
}

struct pciInfo {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};
_Static_assert(sizeof(struct pciInfo) == 68, "nvmlPciInfo_t");

EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct pciInfo *out) {
  struct place at;
  int code = enterDevice(__func__, "", device, &at);
  if (code == OK && at.mig >= 0) code = NOT_SUPPORTED;
  if (code != OK) return code;
  memset(out, 0, sizeof *out);
  const char *id = inForce()->gpus[at.gpu].pci;
  snprintf(out->busId, sizeof out->busId, "%s", id);
  if (sscanf(id, "%x:%x:%x", &out->domain, &out->bus, &out->device) == 3)
    snprintf(out->busIdLegacy, sizeof out->busIdLegacy, "%04X:%02X:%02X.0", out->domain & 0xffff, out->bus & 0xff, out->device & 0xff);
  return OK;
}

EXPORT int nvmlDeviceGetPersistenceMode(void *device, int *out) {
  struct place at;
  int code = enterDevice(__func__, "", device, &at);
  if (code == OK && at.mig >= 0) code = NOT_SUPPORTED;
  if (code == OK) *out = !inForce()->gpus[at.gpu].persistenceOff;
  return code;
}

EXPORT int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
  struct place at;
  int code = enterDevice(__func__, "", device, &at);
  if (code == OK && at.mig >= 0) code = NOT_SUPPORTED;
  if (code != OK) return code;
  const uint32_t *rows = inForce()->gpus[at.gpu].remapped;
  *corrected = rows[0];
  *uncorrected = rows[1];
  *pending = rows[2];
  *failed = rows[3];
  return OK;
}

/* MIG */

static bool hasMig(const struct gpu *gpu) {
  for (int i = 0; i < MAX_MIG; ++i)
    if (gpu->mig[i].present) return true;
  return false;
}

EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *mode, unsigned *pending) {
  struct place at;
  int code = enterDevice(__func__, "", device, &at);
  if (code == OK && (at.mig >= 0 || !hasMig(&inForce()->gpus[at.gpu]))) code = NOT_SUPPORTED;
  if (code == OK) *mode = *pending = 1;
  return code;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *out) {
  struct place at;
  const int code = enterDevice(__func__, "", device, &at);
  if (code == OK) *out = at.mig < 0 && hasMig(&inForce()->gpus[at.gpu]) ? 7 : 0;
  return code;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **out) {
  struct place at;
  const int code = enterDevice(__func__, "", device, &at);
  if (code != OK) return code;
  if (at.mig >= 0 || index >= MAX_MIG) return INVALID_ARGUMENT;
  if (!hasMig(&inForce()->gpus[at.gpu])) return NOT_SUPPORTED;
  if (!inForce()->gpus[at.gpu].mig[index].present) return NOT_FOUND;
  *out = handleOf((struct place){at.gpu, (int)index});
  return OK;
}

EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *mig, void **out) {
  struct place at;
  const int code = enterDevice(__func__, "", mig, &at);
  if (code != OK) return code;
  if (at.mig < 0) return INVALID_ARGUMENT;
  *out = handleOf((struct place){at.gpu, -1});
  return OK;
}

EXPORT int nvmlDeviceIsMigDeviceHandle(void *device, unsigned *out) {
  struct place at;
  const int code = enterDevice(__func__, "", device, &at);
  if (code == OK) *out = at.mig >= 0;
  return code;
}

EXPORT int nvmlDeviceGetGpuInstanceId(void *device, unsigned *out) {
  struct place at;
  const int code = enterDevice(__func__, "", device, &at);
  if (code != OK) return code;
  if (at.mig < 0) return NOT_SUPPORTED;
  *out = (unsigned)at.mig + 1;
  return OK;
}

EXPORT int nvmlDeviceGetComputeInstanceId(void *device, unsigned *out) {
  struct place at;
  const int code = enterDevice(__func__, "", device, &at);
  if (code != OK) return code;
  if (at.mig < 0) return NOT_SUPPORTED;
  *out = 0;
  return OK;
}

struct attributes {
  unsigned multiprocessors, copyEngines, decoders, encoders, jpeg, ofa, gpuSlices, computeSlices;
  unsigned long long memorySizeMB;
};
_Static_assert(sizeof(struct attributes) == 40, "nvmlDeviceAttributes_t");

EXPORT int nvmlDeviceGetAttributes_v2(void *device, struct attributes *out) {
  struct place at;
  const int code = enterDevice(__func__, "", device, &at);
  if (code != OK) return code;
  const struct migDevice *mig = migOf(inForce(), at);
  if (mig == NULL) return NOT_SUPPORTED;
  memset(out, 0, sizeof *out);
  unsigned slices = 1;
  sscanf(mig->profile, "%ug", &slices);
  out->gpuSlices = out->computeSlices = slices;
  out->multiprocessors = 14 * slices;
  out->memorySizeMB = mig->total >> 20;
  return OK;
}
EXPORT int nvmlDeviceGetAttributes(void *device, struct attributes *out) { return nvmlDeviceGetAttributes_v2(device, out); }
