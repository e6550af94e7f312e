/* A program without the gate's code except for one optional function, to be run with libstormlog_heap.so preloaded.
 * heap_host grow STEPS BYTES   keeps BYTES more at every step, 2 ms each; prints what its heap grew by and the last
 * number of it
 * heap_host hold MB MS | short | end MS (sleeps, then exits) | fork MS | exec MS | threads MS | closes FILE MS | vfork
 * MS | leave HOW MS (the main thread ends by pthread_exit or by the kernel's exit; another lives for MS) */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern void stormlog_gate_step(uint64_t) __attribute__((weak));

#ifdef OWN_MALLOC
/* A program with its own allocator, which the C library's counters do not include. */
static char arena[64 << 20];
static size_t used;
void *malloc(size_t size) {
  size_t at = __atomic_fetch_add(&used, (size + 31) / 16 * 16, __ATOMIC_RELAXED);
  *(size_t *)(arena + at) = size;
  return arena + at + 16;
}
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size) {
  void *made = malloc(size);
  if (block != NULL) memcpy(made, block, ((size_t *)block)[-2] < size ? ((size_t *)block)[-2] : size);
  return made;
}
#endif

/* At a fixed address, this makes the program's symbol replace the C library's function. */
void *(*volatile takenAddress)(size_t) = malloc;

static void hold(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&t, &t) != 0) {
  }
}

static size_t inUse(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

static void step(uint64_t number) {
  if (stormlog_gate_step) stormlog_gate_step(number);
}

static void grow(long steps, size_t bytes) {
  size_t before = inUse();
  for (long i = 1; i <= steps; ++i) {
    char *kept = malloc(bytes);
    memset(kept, 1, bytes);
    step((uint64_t)i);
    hold(2);
  }
  printf("%zu %zu\n", inUse() - before, inUse());
}

static volatile int running = 1;

static void *churn(void *argument) {
  uint64_t number = 0;
  unsigned seed = (unsigned)(uintptr_t)argument;
  void *kept[64] = {0};
  while (running) {
    int at = rand_r(&seed) % 64;
    free(kept[at]);
    kept[at] = malloc((size_t)(rand_r(&seed) % 5000));
    step(++number);
  }
  for (int i = 0; i < 64; ++i) free(kept[i]);
  return NULL;
}

static void threads(long ms) {
  pthread_t all[8];
  for (uintptr_t i = 0; i < 8; ++i) pthread_create(&all[i], NULL, churn, (void *)(i + 1));
  for (long i = 0; i < ms / 10; ++i) {
    if (fork() == 0) {
      step(1);
      exit(0);
    }
    hold(10);
  }
  running = 0;
  for (int i = 0; i < 8; ++i) pthread_join(all[i], NULL);
  while (wait(NULL) > 0) {
  }
}

static void *works(void *ms) {
  hold((long)ms);
  puts("worker done");
  fflush(stdout);
  return NULL;
}

/* More stack than a helper thread usually has, and a signal that only a thread without a mask gets. */
static volatile int signals;
static void counts(int number) { signals += number == SIGTERM; }
static void leaves(void) {
  char large[1 << 20];
  memset(large, 1, sizeof large);
  __asm__ volatile("" ::"r"(large) : "memory");
  kill(getpid(), SIGTERM);
  printf("exit handler, %d signal\n", signals);
}

static void leave(const char *how, long ms) {
  pthread_t worker;
  signal(SIGTERM, counts);
  atexit(leaves);
  pthread_create(&worker, NULL, works, (void *)ms);
  if (strcmp(how, "pthread_exit") == 0) pthread_exit(NULL);
  syscall(SYS_exit, 0);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  long first = argc > 2 ? atol(argv[2]) : 0;
  long second = argc > 3 ? atol(argv[3]) : 0;
  if (strcmp(argv[1], "grow") == 0) grow(first, (size_t)second);
  if (strcmp(argv[1], "end") == 0) hold(first);
  if (strcmp(argv[1], "threads") == 0) threads(first);
  if (strcmp(argv[1], "hold") == 0) {
    char *kept = malloc((size_t)first << 20);
    memset(kept, 1, (size_t)first << 20);
    hold(second);
  }
  if (strcmp(argv[1], "fork") == 0) {
    hold(300);
    if (fork() == 0) {
      char *kept = malloc(3 << 20);
      memset(kept, 1, 3 << 20);
      hold(first);
      exit(0);
    }
    int status = 1;
    wait(&status);
    return status != 0;
  }
  if (strcmp(argv[1], "leave") == 0 && argc > 3) leave(argv[2], second);
  if (strcmp(argv[1], "vfork") == 0) {
    hold(300);
    if (vfork() == 0) {
      execl("/bin/true", "true", (char *)NULL);
      _exit(1);
    }
    wait(NULL);
    hold(first);
  }
  if (strcmp(argv[1], "exec") == 0) {
    hold(300);
    execl(argv[0], argv[0], "end", argv[2], (char *)NULL);
  }
  if (strcmp(argv[1], "closes") == 0) {
    for (int fd = 3; fd < 1000; ++fd) close(fd);
    int own = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0644);
    hold(second);
    return lseek(own, 0, SEEK_END) == 0 ? 0 : 1;
  }
  return 0;
}
