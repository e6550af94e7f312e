/* Allocates about a million times a second, with work between: each line of standard input is a number of allocations,
 * answered by their wall and CPU seconds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLOTS = 4096, WORK = 800 };

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void) {
  static void *slots[SLOTS];
  static volatile uint64_t result;
  uint32_t random = 1;
  long count = 0;
  while (scanf("%ld", &count) == 1) {
    const double wall = seconds(CLOCK_MONOTONIC);
    const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (long i = 0; i < count; ++i) {
      random = random * 1664525u + 1013904223u;
      const uint32_t slot = (random >> 16) % SLOTS;
      free(slots[slot]);
      slots[slot] = malloc(16 + ((random >> 8) & 1023));
      uint64_t sum = random;
      for (int j = 0; j < WORK; ++j) sum = sum * 6364136223846793005ULL + 1;
      result = sum;
    }
    printf("%f %f\n", seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    fflush(stdout);
  }
  return 0;
}
