/* The `follow` file: bytes that real processes on this machine report to hold on a device, one line each:
 * PID GPU BYTES [PEAK]. A directory stands for all its files: one per process, so that writers need no lock. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

/* Up to `size - 1` bytes of a file, ended by a zero; false when it cannot be read. */
static bool slurp(int directory, const char *name, char *out, size_t size) {
  const int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = read(fd, out, size - 1);
  close(fd);
  if (length < 0) return false;
  out[length] = '\0';
  return true;
}

/* The driver frees memory when a process ends, not when its parent waits for it. */
static bool holdsMemory(long pid) {
  char name[48], stat[512];
  snprintf(name, sizeof name, "/proc/%ld/stat", pid);
  if (!slurp(AT_FDCWD, name, stat, sizeof stat)) return false;
  const char *state = strrchr(stat, ')');
  return state != NULL && strlen(state) > 2 && state[2] != 'Z' && state[2] != 'X';
}

static int take(char *text, struct followed *out, int max) {
  int count = 0;
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line != NULL && count < max; line = strtok_r(NULL, "\n", &rest)) {
    char gpu[16];
    unsigned long long bytes, peak = 0;
    long pid;
    const int fields = sscanf(line, "%ld %15s %llu %llu", &pid, gpu, &bytes, &peak);
    if (fields < 3 || pid <= 0) continue;
    out[count++] = (struct followed){pid, placeOf(gpu), bytes, peak > bytes ? peak : bytes, holdsMemory(pid)};
  }
  return count;
}

int readFollowed(const struct scenario *s, struct followed *out, int max) {
  char text[16384];
  if (*s->follow == '\0') return 0;
  if (slurp(AT_FDCWD, s->follow, text, sizeof text)) return take(text, out, max);
  DIR *directory = opendir(s->follow);
  if (directory == NULL) return 0;
  int count = 0;
  for (struct dirent *entry = readdir(directory); entry != NULL && count < max; entry = readdir(directory)) {
    /* Names that begin with a dot are being written. */
    if (*entry->d_name == '.' || !slurp(dirfd(directory), entry->d_name, text, sizeof text)) continue;
    count += take(text, out + count, max - count);
  }
  closedir(directory);
  return count;
}
