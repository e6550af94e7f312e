// Start-up code of current C libraries asks for a __libc_start_main of glibc 2.34. This puts the version every glibc
// has in its place. The older one receives no constructors (null), and this program has none.
using Main = int (*)(int, char**, char**);
using Hook = void (*)();

extern "C" {
int oldStartMain(Main main, int argc, char** argv, Hook init, Hook fini, Hook rtldFini, void* stackEnd);
#if defined(__x86_64__)
__asm__(".symver oldStartMain,__libc_start_main@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver oldStartMain,__libc_start_main@GLIBC_2.17");
#endif

int __wrap___libc_start_main(Main main, int argc, char** argv, Hook, Hook, Hook rtldFini, void* stackEnd);
int __wrap___libc_start_main(Main main, int argc, char** argv, Hook, Hook, Hook rtldFini, void* stackEnd) {
  return oldStartMain(main, argc, argv, nullptr, nullptr, rtldFini, stackEnd);
}
}
