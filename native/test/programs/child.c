/* Programs to be measured. Built without sanitizers, so that its memory is what it asks for.
 *   child sleep MS | alloc MB MS | thread-child MB MS | setsid MB MS | daemon MB MS | vfork MB MS | leader-exit MB MS
 *   child spike MB MS (allocates after 150 ms, frees after MS, lives on for 50 ms) | fork N MS | stubborn MS */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long megabytes, holdMs;

static void hold(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&t, &t) != 0) {
  }
}

static void allocate(void) {
  size_t size = (size_t)megabytes << 20;
  if (size == 0) return;
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(3);
  memset(memory, 1, size);
}

static void spike(void) {
  size_t size = (size_t)megabytes << 20;
  hold(150);
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  hold(holdMs);
  munmap(memory, size);
  hold(50);
}

static void allocateAndHold(void) {
  allocate();
  hold(holdMs);
}

static void *forkInThread(void *unused) {
  (void)unused;
  if (fork() == 0) {
    allocateAndHold();
    _exit(0);
  }
  hold(holdMs);
  return NULL;
}

static void *holdInThread(void *unused) {
  (void)unused;
  allocateAndHold();
  exit(0);
}

static int borrow(void *unused) {
  (void)unused;
  hold(holdMs);
  _exit(0);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  megabytes = argc > 3 ? atol(argv[2]) : 0;
  holdMs = argc > 3 ? atol(argv[3]) : argc > 2 ? atol(argv[2]) : 0;
  pthread_t thread;
  if (!strcmp(mode, "sleep") || !strcmp(mode, "alloc")) {
    allocateAndHold();
  } else if (!strcmp(mode, "spike")) {
    spike();
  } else if (!strcmp(mode, "thread-child")) {
    pthread_create(&thread, NULL, forkInThread, NULL);
    pthread_join(thread, NULL);
  } else if (!strcmp(mode, "setsid")) {
    if (fork() == 0) {
      setsid();
      allocateAndHold();
      return 0;
    }
    hold(holdMs);
  } else if (!strcmp(mode, "daemon")) {
    pid_t middle = fork();
    if (middle == 0) {
      setsid();
      if (fork() == 0) {
        allocateAndHold();
        _exit(0);
      }
      _exit(0);
    }
    waitpid(middle, NULL, 0);
    hold(holdMs);
  } else if (!strcmp(mode, "vfork")) {
    static char stack[65536];
    allocate();
    hold(300);
    clone(borrow, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    hold(300);
  } else if (!strcmp(mode, "leader-exit")) {
    pthread_create(&thread, NULL, holdInThread, NULL);
    pthread_exit(NULL);
  } else if (!strcmp(mode, "fork")) {
    for (long i = 0; i < megabytes; ++i) {
      if (fork() == 0) {
        hold(holdMs);
        _exit(0);
      }
    }
    hold(holdMs);
  } else if (!strcmp(mode, "stubborn")) {
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    if (fork() == 0) {
      setsid();
      char *none[] = {NULL};
      char *again[] = {argv[0], "sleep", argv[2], NULL};
      execve("/proc/self/exe", again, none);
    }
    hold(holdMs);
  } else {
    fprintf(stderr, "child: unknown mode %s\n", mode);
    return 2;
  }
  return 0;
}
