#include <cstring>

#include "harness.h"

// Optional argument: run only tests whose name contains it.
int main(int argc, char** argv) {
  int passed = 0;
  int failed = 0;
  for (const harness::Test& test : harness::tests()) {
    if (argc > 1 && std::strstr(test.name, argv[1]) == nullptr) continue;
    harness::failures() = 0;
    test.run();
    const bool ok = harness::failures() == 0;
    (ok ? passed : failed) += 1;
    std::printf("%s %s\n", ok ? "ok  " : "FAIL", test.name);
    std::fflush(stdout);
  }
  std::printf("passed %d failed %d\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
