// Wakes at a fixed rate and reads statm of every process, and nothing else: the least that reading each of them takes.
// Usage: read_loop PERIOD_NS SECONDS PID...; prints CPU nanoseconds per period.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static long long clockNs(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int count, char** arguments) {
  const long long period = atoll(arguments[1]), duration = atoll(arguments[2]) * 1000000000LL;
  int files[64], size = 0;
  for (int i = 3; i < count && size < 64; ++i) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%s/statm", arguments[i]);
    files[size++] = open(name, O_RDONLY);
  }
  prctl(PR_SET_TIMERSLACK, 1);
  const long long begin = clockNs(CLOCK_MONOTONIC), used = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  for (long long at = begin; at < begin + duration; at += period) {
    const struct timespec next = {at / 1000000000, at % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
    char text[128];
    for (int i = 0; i < size; ++i) {
      if (pread(files[i], text, sizeof text, 0) <= 0) return 1;
    }
  }
  printf("%.1f\n", (double)(clockNs(CLOCK_PROCESS_CPUTIME_ID) - used) / (duration / period));
}
