// Allocates, fills and frees blocks of many sizes. Usage: work ROUNDS
#include <stdlib.h>
#include <string.h>

int main(int count, char** arguments) {
  enum { kBlocks = 1024 };
  static char* blocks[kBlocks];
  unsigned long seed = 1, sum = 0;
  for (long round = 0; round < atol(count > 1 ? arguments[1] : "1"); ++round) {
    for (int i = 0; i < kBlocks; ++i) {
      seed = seed * 6364136223846793005UL + 1442695040888963407UL;
      const size_t size = 16 + (seed >> 33) % 16384;
      free(blocks[i]);
      blocks[i] = malloc(size);
      memset(blocks[i], (int)round, size);
      for (size_t at = 0; at < size; at += 64) sum += (unsigned char)blocks[i][at];
    }
  }
  return sum == 1;
}
