// A process whose resident memory changes between any two ticks at 1 kHz: pages are touched and given back in turn.
#include <sys/mman.h>
#include <time.h>

int main(void) {
  enum { kBytes = 64 << 10, kPage = 4096 };
  char* pages = mmap(0, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 1;
  const struct timespec pause = {0, 500000};
  for (unsigned turn = 0;; ++turn) {
    if (turn % 16 == 15) madvise(pages, kBytes, MADV_DONTNEED);
    else pages[turn % 16 * kPage] = 1;
    nanosleep(&pause, 0);
  }
}
