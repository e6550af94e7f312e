// The few symbols that headers of the C++ library need from its binary. The shipped addon links none of that binary: it
// is built without exceptions, loads on glibc 2.28 whatever the building machine has, and stays small. Where the
// library would throw, this ends the process, which can only happen when memory is exhausted or a string outgrows the
// address space.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

void* operator new(std::size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size == 0 ? 1 : size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size == 0 ? 1 : size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* memory = nullptr;
  if (posix_memalign(&memory, static_cast<std::size_t>(alignment), size == 0 ? 1 : size) != 0) std::abort();
  return memory;
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#if defined(_LIBCPP_VERSION)
// The build for musl has libc++, whose headers declare these and leave them to its binary.
template class std::basic_string<char>;
template std::string std::operator+<char, std::char_traits<char>, std::allocator<char>>(const char*, const std::string&);
template <typename Less, typename Iterator>
void std::__sort(Iterator first, Iterator last, Less) {
  std::make_heap(first, last);
  std::sort_heap(first, last);
}
template void std::__sort<std::__less<int>&, int*>(int*, int*, std::__less<int>&);
template <typename Number>
static std::string decimal(const char* format, Number value) {
  char text[24];
  std::snprintf(text, sizeof text, format, value);
  return text;
}
std::string std::to_string(int value) { return decimal("%d", value); }
std::string std::to_string(unsigned value) { return decimal("%u", value); }
std::string std::to_string(unsigned long value) { return decimal("%lu", value); }
std::string std::to_string(long long value) { return decimal("%lld", value); }
void std::__libcpp_verbose_abort(const char*, ...) { std::abort(); }
#else
namespace std {
[[noreturn]] void __throw_length_error(const char*) { abort(); }
[[noreturn]] void __throw_logic_error(const char*) { abort(); }
[[noreturn]] void __throw_out_of_range_fmt(const char*, ...) { abort(); }
[[noreturn]] void __throw_bad_alloc() { abort(); }
[[noreturn]] void __throw_bad_array_new_length() { abort(); }
[[noreturn]] void __throw_bad_function_call() { abort(); }
[[noreturn]] void __throw_system_error(int) { abort(); }
}  // namespace std
#endif

extern "C" [[noreturn]] void __cxa_pure_virtual() { std::abort(); }
