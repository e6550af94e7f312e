// Included before every file of a Linux release build, so that what is built on a new distribution loads on glibc 2.28
// and takes nothing from libstdc++ (see no_libstdcxx.cc).
#pragma once

#include <cstddef>

// The header above sets the library's configuration, which declares std::string as an extern template. Without that
// setting it is instantiated here.
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE 0

// glibc 2.34 moved these functions between its libraries; this binds them to the versions they have had all along.
// musl has no versions.
#if defined(__GLIBCXX__) && defined(__x86_64__)
#define STORMLOG_OLD "GLIBC_2.2.5"
#define STORMLOG_OLD_DLADDR1 "GLIBC_2.3.3"
#elif defined(__GLIBCXX__) && defined(__aarch64__)
#define STORMLOG_OLD "GLIBC_2.17"
#define STORMLOG_OLD_DLADDR1 "GLIBC_2.17"
#endif
#if defined(STORMLOG_OLD)
__asm__(".symver dlopen,dlopen@" STORMLOG_OLD);
__asm__(".symver dlsym,dlsym@" STORMLOG_OLD);
__asm__(".symver dlclose,dlclose@" STORMLOG_OLD);
__asm__(".symver dlerror,dlerror@" STORMLOG_OLD);
__asm__(".symver dladdr,dladdr@" STORMLOG_OLD);
__asm__(".symver dladdr1,dladdr1@" STORMLOG_OLD_DLADDR1);
__asm__(".symver pthread_attr_setstacksize,pthread_attr_setstacksize@" STORMLOG_OLD);
__asm__(".symver pthread_create,pthread_create@" STORMLOG_OLD);
__asm__(".symver pthread_kill,pthread_kill@" STORMLOG_OLD);
__asm__(".symver pthread_join,pthread_join@" STORMLOG_OLD);
__asm__(".symver pthread_detach,pthread_detach@" STORMLOG_OLD);
__asm__(".symver pthread_sigmask,pthread_sigmask@" STORMLOG_OLD);
#endif
