/* Allocates from named functions, for the library that samples stacks. `keeps` never frees. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The C library's own, behind the names that the library under test replaces. */
extern void *__libc_malloc(size_t);
extern void __libc_free(void *);

static void *volatile sink;

__attribute__((noinline)) static void keeps(size_t size) {
  sink = malloc(size);
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void frees(size_t size) {
  void *one = calloc(1, size);
  one = realloc(one, size * 2);
  sink = one;
  free(one);
  __asm__ volatile("" ::: "memory");
}

static void pauses(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

/* 0 when the library is loaded, samples and wrote its document. */
static int written(const char *path) {
  int (*write_stacks)(const char *, uint64_t, int64_t) = NULL;
  *(void **)&write_stacks = dlsym(RTLD_DEFAULT, "stormlog_stacks_write");
  return write_stacks != NULL && write_stacks(path, 0, 7) == 1 ? 0 : 4;
}

__attribute__((noinline)) static void *holds(size_t size) {
  void *one = malloc(size);
  __asm__ volatile("" ::: "memory");
  return one;
}

/* 48 MB in one function and 16 MB in another at once, then 8 MB. */
static void rises(void) {
  void *large[48];
  for (int i = 0; i < 48; ++i) large[i] = holds(1000000);
  keeps(16000000);
  for (int i = 0; i < 48; ++i) free(large[i]);
  free(sink);
  keeps(8000000);
}

static void *churns(void *rounds) {
  for (long i = 0; i < (long)rounds; ++i) {
    void *aligned = NULL;
    if (posix_memalign(&aligned, 64, 1000 + i % 7000) == 0) free(aligned);
    frees(100 + i % 5000);
  }
  return NULL;
}

static void *rises_later(void *unused) {
  pauses(100);
  rises();
  return unused;
}

/* Its samples come when it may only read, write and end. */
static int seals(void) {
  mallopt(M_MMAP_THRESHOLD, 16 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  /* Unseen by the library: memory for which no call of the kernel is needed later. */
  __libc_free(__libc_malloc(8 << 20));
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 0;
  for (int i = 0; i < 200; ++i) frees(1000000);
  keeps(4000000);
  syscall(SYS_exit, 0);
  return 1;
}

/* A string of `count` pieces, each in a larger block. */
static void appends(size_t count, size_t piece) {
  char *text = NULL;
  for (size_t i = 0; i < count; ++i) {
    text = realloc(text, (i + 1) * piece);
    memset(text + i * piece, 1, piece);
    if (i % 4 == 0) pauses(1);
  }
  sink = text;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "keep") == 0) {
    // Slowly: beyond a thousand samples a second the library takes fewer.
    for (int i = 0; i < 1000; ++i) {
      keeps(2000);
      frees(5000);
      if (i % 2 == 0) pauses(1);
    }
    return written(argv[2]);
  } else if (strcmp(what, "append") == 0) {
    appends(2000, 4000);
    return written(argv[2]);
  } else if (strcmp(what, "cut") == 0) {
    char *text = malloc(64 << 20);
    memset(text, 1, 64 << 20);
    sink = realloc(text, 16 << 20);
    return written(argv[2]);
  } else if (strcmp(what, "touch") == 0) {
    sink = memset(holds(64 << 20), 1, 16 << 20);
    return written(argv[2]);
  } else if (strcmp(what, "rise") == 0) {
    rises();
    return written(argv[2]);
  } else if (strcmp(what, "rise-twice") == 0) {
    rises();
    const pid_t child = fork();
    if (child == 0) {
      free(holds(20000000));
      return 0;
    }
    int status = 1;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
  } else if (strcmp(what, "seal") == 0) {
    return seals();
  } else if (strcmp(what, "leave") == 0) {
    pthread_t worker;
    pthread_create(&worker, NULL, rises_later, NULL);
    pthread_exit(NULL);
  } else if (strcmp(what, "threads") == 0) {
    pthread_t threads[4];
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, churns, (void *)20000);
      const pid_t child = fork();
      if (child == 0) {
        churns((void *)2000);
        _exit(0);
      }
      int status = 1;
      if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 3;
      for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    }
    return written(argv[2]);
  }
  puts("done");
  return 0;
}
