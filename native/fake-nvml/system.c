/* Versions, and the names of errors. */
#include <stdio.h>

#include "fake.h"

static int text(const char *function, const char *value, char *out, unsigned size) {
  const int code = enter(function, "", (struct place){ANY, -1});
  if (code != OK) return code;
  return snprintf(out, size, "%s", value) >= (int)size ? INSUFFICIENT_SIZE : OK;
}

EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned size) {
  const struct scenario *s = inForce();
  return s == NULL ? UNINITIALIZED : text(__func__, s->driver, out, size);
}

EXPORT int nvmlSystemGetNVMLVersion(char *out, unsigned size) {
  const struct scenario *s = inForce();
  return text(__func__, s == NULL ? "13.580.00" : s->nvml, out, size);
}

EXPORT int nvmlSystemGetCudaDriverVersion(int *out) {
  const struct scenario *s = inForce();
  const int code = enter(__func__, "", (struct place){ANY, -1});
  if (code == OK) *out = s->cuda;
  return code;
}
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *out) { return nvmlSystemGetCudaDriverVersion(out); }

EXPORT const char *nvmlErrorString(int code) {
  switch (code) {
    case OK: return "Success";
    case UNINITIALIZED: return "Uninitialized";
    case INVALID_ARGUMENT: return "Invalid Argument";
    case NOT_SUPPORTED: return "Not Supported";
    case NO_PERMISSION: return "Insufficient Permissions";
    case NOT_FOUND: return "Not Found";
    case INSUFFICIENT_SIZE: return "Insufficient Size";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case TIMED_OUT: return "Timeout";
    case FUNCTION_NOT_FOUND: return "Function Not Found";
    case GPU_IS_LOST: return "GPU is lost";
    case 16: return "GPU requires reset";
    case 17: return "GPU access blocked by the operating system";
    case 18: return "Driver/library version mismatch";
    case VERSION_MISMATCH: return "Argument version mismatch";
    default: return "Unknown Error";
  }
}
