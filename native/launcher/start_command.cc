#include "start_command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace stormlog_launcher {
namespace {

constexpr char kPutAside[] = "STORMLOG_GATE_";
constexpr char kPreload[] = "LD_PRELOAD=";

// Renames STORMLOG_GATE_LD_PRELOAD to LD_PRELOAD, in place of an LD_PRELOAD that is set already.
void restorePreload() {
  char** found = nullptr;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (strncmp(*entry, kPutAside, sizeof kPutAside - 1) == 0 && strncmp(*entry + sizeof kPutAside - 1, kPreload, sizeof kPreload - 1) == 0) {
      found = entry;
    }
  }
  if (found == nullptr) return;
  char** kept = environ;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (strncmp(*entry, kPreload, sizeof kPreload - 1) == 0) continue;
    *kept++ = entry == found ? *entry + sizeof kPutAside - 1 : *entry;
  }
  *kept = nullptr;
}

[[noreturn]] void runCommand(char** argv, int go, int failed, const Caller& caller) {
  if (caller.known && !caller.become()) _exit(126);
  // Early, so that the command is killed with the launcher. Its descendants are re-parented to the gate, which is the
  // next subreaper.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  setpgid(0, 0);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  char byte = 0;
  ssize_t n;
  do {
    n = read(go, &byte, 1);
  } while (n < 0 && errno == EINTR);
  // No 'g' came: the gate died or gave up before.
  if (n != 1) _exit(127);
  restorePreload();
  execvp(argv[0], argv);
  const int error = errno;
  if (write(failed, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

}  // namespace

Command startCommand(char** command, const Caller& caller) {
  int go[2];
  int failed[2];
  if (pipe2(go, O_CLOEXEC) != 0 || pipe2(failed, O_CLOEXEC) != 0) return {-1, -1, -1, errno};
  const pid_t pid = fork();
  if (pid < 0) return {-1, -1, -1, errno};
  if (pid == 0) {
    close(go[1]);
    close(failed[0]);
    runCommand(command, go[0], failed[1], caller);
  }
  // Both sides set the group, so that it is set whichever runs first.
  setpgid(pid, pid);
  close(go[0]);
  close(failed[1]);
  return {pid, go[1], failed[0], 0};
}

}  // namespace stormlog_launcher
