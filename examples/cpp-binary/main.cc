// Sorts random numbers in rounds: a stand-in for your own program. It links nothing of the gate.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#ifdef __linux__
#include <dlfcn.h>
#endif

namespace {

// Reports the end of a round to the gate's preloaded library. Does nothing where it is not preloaded.
void reportStep(unsigned long long step) {
#ifdef __linux__
  using Tell = void (*)(unsigned long long);
  static const Tell tell = reinterpret_cast<Tell>(dlsym(RTLD_DEFAULT, "stormlog_gate_step"));
  if (tell != nullptr) tell(step);
#else
  (void)step;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned long rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 300;
  std::mt19937_64 random(1);
  unsigned long long checksum = 0;
  for (unsigned long round = 0; round < rounds; ++round) {
    std::vector<unsigned long long> numbers(100'000);
    for (auto& number : numbers) number = random();
    std::sort(numbers.begin(), numbers.end());
    checksum ^= numbers[numbers.size() / 2];
    reportStep(round);
  }
  std::printf("%016llx\n", checksum);
  return 0;
}
