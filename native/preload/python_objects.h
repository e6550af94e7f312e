// What CPython allocates of its own arenas, which never reaches malloc: blocks of up to 512 bytes, as most objects are.
//
// A layer above the interpreter's allocators of objects and buffers, by CPython's `PyMem_SetAllocator` (3.5 and later),
// which is made for that: memory that was allocated before is freed through it as well. It is installed before
// tracemalloc's own layer, and stays until the process ends.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstring>

namespace stormlog_heap {

// PyMemAllocatorEx.
struct PythonAllocator {
  void* context;
  void* (*malloc)(void*, size_t);
  void* (*calloc)(void*, size_t, size_t);
  void* (*realloc)(void*, void*, size_t);
  void (*free)(void*, void*);
};

// `Watch` has the static functions `enter()` and `leave()`, around what the layer below allocates, of malloc too, and
// `allocated(address, size)` and `released(address)`.
template <typename Watch>
class PythonObjects {
 public:
  // Only with the interpreter's lock, and once. False where this process has no such allocators.
  bool watch() {
    void (*get)(int, PythonAllocator*) = nullptr;
    void (*set)(int, PythonAllocator*) = nullptr;
    if (!find("PyMem_GetAllocator", get) || !find("PyMem_SetAllocator", set)) return false;
    for (int i = 0; i < kDomains; ++i) {
      get(kFirstDomain + i, &below_[i]);
      PythonAllocator own{&below_[i], &malloc, &calloc, &realloc, &free};
      set(kFirstDomain + i, &own);
    }
    return true;
  }

 private:
  // PYMEM_DOMAIN_MEM and PYMEM_DOMAIN_OBJ; the raw domain is malloc's.
  static constexpr int kFirstDomain = 1;
  static constexpr int kDomains = 2;

  template <typename Function>
  static bool find(const char* name, Function& function) {
    void* found = dlsym(RTLD_DEFAULT, name);
    memcpy(&function, &found, sizeof found);
    return found != nullptr;
  }

  static const PythonAllocator& below(void* context) { return *static_cast<const PythonAllocator*>(context); }

  static void* malloc(void* context, size_t size) {
    Watch::enter();
    void* address = below(context).malloc(below(context).context, size);
    Watch::leave();
    Watch::allocated(address, size);
    return address;
  }
  static void* calloc(void* context, size_t count, size_t size) {
    Watch::enter();
    void* address = below(context).calloc(below(context).context, count, size);
    Watch::leave();
    Watch::allocated(address, count * size);
    return address;
  }
  static void* realloc(void* context, void* old, size_t size) {
    // As for malloc: if the call fails, the sample is lost.
    if (old != nullptr) Watch::released(old);
    Watch::enter();
    void* address = below(context).realloc(below(context).context, old, size);
    Watch::leave();
    Watch::allocated(address, size);
    return address;
  }
  static void free(void* context, void* address) {
    if (address != nullptr) Watch::released(address);
    below(context).free(below(context).context, address);
  }

  PythonAllocator below_[kDomains];
};

}  // namespace stormlog_heap
