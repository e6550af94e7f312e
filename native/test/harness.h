// A minimal test harness: tests register themselves, and a failed check is reported without ending the test.
#pragma once

#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

namespace harness {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

inline int& failures() {
  static int count = 0;
  return count;
}

struct Register {
  Register(const char* name, void (*run)()) { tests().push_back(Test{name, run}); }
};

inline void report(const char* file, int line, const std::string& what) {
  ++failures();
  std::printf("    %s:%d: %s\n", file, line, what.c_str());
}

}  // namespace harness

#define HARNESS_JOIN2(a, b) a##b
#define HARNESS_JOIN(a, b) HARNESS_JOIN2(a, b)
#define TEST(name)                                                                                   \
  static void HARNESS_JOIN(test_, __LINE__)();                                                       \
  static const harness::Register HARNESS_JOIN(register_, __LINE__)(name, HARNESS_JOIN(test_, __LINE__)); \
  static void HARNESS_JOIN(test_, __LINE__)()
#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) harness::report(__FILE__, __LINE__, "not true: " #condition); \
  } while (0)
#define CHECK_EQ(actual, expected)                                                                              \
  do {                                                                                                          \
    const auto a_ = (actual);                                                                                   \
    const auto e_ = static_cast<std::decay_t<decltype(a_)>>(expected);                                                        \
    if (!(a_ == e_)) harness::report(__FILE__, __LINE__, std::string(#actual " is ") + std::to_string(a_) + ", not " + std::to_string(e_)); \
  } while (0)
