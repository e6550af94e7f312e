// launcher <controlFd> <statusFd> [user|root|sudo <gate> <status> [mounts…]] -- command [arguments…]
//
// Runs between the gate and the measured command, so that every process of the job stays below one parent (it is
// their subreaper) and the job ends with the gate, however the gate ends.
//
// Writes to statusFd, one line each:
//   init <n>                       behind a wall, first: the process that is the namespace's init
//   wall-failed <step> <NAME>      the wall was refused, and nothing follows
//   pid <n>                        at once, in the command's own namespace; the command waits for 'g'
//   started | exec-failed <errno> <name>      after 'g'; after exec-failed nothing follows
//   exit <code> | signal <n> <core 0|1>       when the command itself ended
// Reads from controlFd:
//   g  let the command run         t  SIGTERM to the whole job
//   i  SIGINT to the whole job     k  SIGKILL to the whole job, again until nothing is left
//   q  kill what is left and exit 0
// end of file: the gate is gone. SIGTERM to the job, after 500 ms SIGKILL until nothing is left, then exit. The marker
// of the job is read from its own environment: STORMLOG_GATE_RUN. Its STORMLOG_GATE_LD_PRELOAD becomes the command's
// LD_PRELOAD, which is meant for the job and not for the launcher.
//
// Started by `sudo`, it has its orders from descriptor 0, before them the command's environment ("<bytes>\\n", then
// "NAME=value\\0" each), and writes its status to a named pipe.
//
// Behind a wall (wall.h) a child of this process does all of that, as the init of its namespaces: it ends with this
// process, and everything in the namespace with it.
//
// A stopped gate is continued, since no limit of time would end the job. One that stops it again is ended.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "../support/errno_name.h"
#include "caller.h"
#include "descendants.h"
#include "start_command.h"
#include "wall.h"

namespace {

using stormlog_launcher::Descendants;
using stormlog_launcher::isStopped;
using stormlog_launcher::Wall;

constexpr char kMarkerName[] = "STORMLOG_GATE_RUN";
constexpr long kTermGraceMs = 500;
// The job must be gone 2 s after the gate; processes stuck in the kernel are waited for no longer than this after
// SIGKILL.
constexpr long kKillMs = 1400;
constexpr long kRoundMs = 5;
constexpr long kGateCheckMs = 500;

constexpr int kIgnored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2, SIGALRM};

int statusFd = -1;
int commandPid = -1;
// The exec error arrives here; end of file means that the command runs.
int execFd = -1;
int goFd = -1;
bool execFailed = false;
bool commandReported = false;
bool isInit = false;
// Of a gate that started this as root: the command is run as its user, in its environment.
stormlog_launcher::Caller caller;

long nowMs() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000L + t.tv_nsec / 1000000L;
}

void report(const char* line) {
  size_t done = 0;
  const size_t size = strlen(line);
  while (done < size) {
    const ssize_t n = write(statusFd, line + done, size - done);
    if (n > 0) done += static_cast<size_t>(n);
    // The gate no longer reads, so the control pipe will end too.
    else if (n < 0 && errno != EINTR) return;
  }
}

void onChild(int) {}

void reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return;
    if (pid != commandPid || commandReported) continue;
    commandReported = true;
    // The child of a failed exec ends too, but that is not the command's exit.
    if (execFailed) continue;
    char line[64];
    if (WIFSIGNALED(status)) {
      snprintf(line, sizeof line, "signal %d %d\n", WTERMSIG(status), WCOREDUMP(status) ? 1 : 0);
    } else {
      snprintf(line, sizeof line, "exit %d\n", WEXITSTATUS(status));
    }
    report(line);
  }
}

void readExecResult() {
  int error = 0;
  ssize_t n;
  do {
    n = read(execFd, &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  close(execFd);
  execFd = -1;
  if (n == static_cast<ssize_t>(sizeof error)) {
    execFailed = true;
    char line[96];
    snprintf(line, sizeof line, "exec-failed %d %s\n", error, stormlog::errnoName(error));
    report(line);
  } else if (goFd < 0) {
    report("started\n");
  }
}

// 0 as the signal only counts.
size_t signalAll(Descendants& job, int signal) {
  // All of the namespace but its init, without a race.
  if (isInit) return kill(-1, signal) == 0 ? 1 : 0;
  const size_t count = job.scan();
  for (size_t i = 0; i < count; ++i) kill(job.pid(i), signal);
  return count;
}

void sleepMs(long ms) {
  timespec t{ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&t, nullptr);
}

// Kills and scans again until a scan finds no process: one that was forked meanwhile is in the next scan.
void killAll(Descendants& job, long limitMs) {
  const long deadline = nowMs() + limitMs;
  while (signalAll(job, SIGKILL) > 0) {
    reap();
    if (nowMs() >= deadline) return;
    sleepMs(kRoundMs);
    reap();
  }
}

void endOrphanedJob(Descendants& job) {
  const long deadline = nowMs() + kTermGraceMs;
  size_t left = signalAll(job, SIGTERM);
  while (left > 0 && nowMs() < deadline) {
    sleepMs(kRoundMs * 4);
    reap();
    left = signalAll(job, 0);
  }
  killAll(job, kKillMs);
}

bool parseFd(const char* text, int& out) {
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 0 || value > 1 << 20 || fcntl(static_cast<int>(value), F_GETFD) < 0) return false;
  out = static_cast<int>(value);
  return fcntl(out, F_SETFD, FD_CLOEXEC) == 0;
}

// Called at each wake-up. Continues a stopped gate; true where it was so at the look before, too.
bool gateStaysStopped(pid_t gate) {
  static long dueMs = 0;
  static bool before = false;
  if (nowMs() < dueMs) return false;
  const bool stopped = getppid() == gate && isStopped(gate);
  const bool stays = stopped && before;
  if (stopped) kill(gate, SIGCONT);
  before = stopped;
  dueMs = nowMs() + kGateCheckMs;
  return stays;
}

// Outside of the wall: waits for the init, and ends it where the gate's end did not.
int superviseInit(pid_t init, pid_t gate, const sigset_t& none) {
  const timespec period = {0, kGateCheckMs * 1000000L};
  long goneMs = 0;
  for (;;) {
    ppoll(nullptr, 0, &period, &none);
    int status = 0;
    if (waitpid(init, &status, WNOHANG) == init) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (gateStaysStopped(gate)) kill(init, SIGKILL);
    if (getppid() == gate) continue;
    if (goneMs == 0) goneMs = nowMs();
    else if (nowMs() - goneMs >= kTermGraceMs + kKillMs) kill(init, SIGKILL);
  }
}

// Goes on as the init behind the wall; returns in no other process.
void enterWall(Wall wall, int controlFd, pid_t gate, char** mounts, int count, const sigset_t& none) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  int named[2];
  char line[128];
  if (pipe2(named, O_CLOEXEC) != 0) {
    snprintf(line, sizeof line, "wall-failed pipe %s\n", stormlog::errnoName(errno));
    report(line);
    _exit(1);
  }
  const pid_t init = forkIntoWall(wall);
  if (init < 0) {
    snprintf(line, sizeof line, "wall-failed namespaces %s\n", stormlog::errnoName(errno));
    report(line);
    _exit(1);
  }
  if (init > 0) {
    snprintf(line, sizeof line, "init %d\n", init);
    report(line);
    close(controlFd);
    close(statusFd);
    close(named[1]);
    _exit(superviseInit(init, gate, none));
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  close(named[1]);
  char byte = 0;
  ssize_t n;
  do {
    n = read(named[0], &byte, 1);
  } while (n < 0 && errno == EINTR);
  close(named[0]);
  // A session of another namespace has no number here.
  setsid();
  const char* failed = stormlog_launcher::buildWall(wall, user, group, mounts, count);
  if (failed != nullptr) {
    snprintf(line, sizeof line, "wall-failed %.80s %s\n", failed, stormlog::errnoName(errno));
    report(line);
    _exit(1);
  }
  isInit = true;
}

// Handles one control byte; true when the launcher should exit.
bool obey(char byte, Descendants& job) {
  switch (byte) {
    case 'g':
      if (goFd >= 0) {
        // One that was killed before it could start is reported when it is reaped.
        (void)!write(goFd, "g", 1);
        close(goFd);
        goFd = -1;
      }
      return false;
    case 't':
      signalAll(job, SIGTERM);
      return false;
    case 'i':
      signalAll(job, SIGINT);
      return false;
    case 'k':
      killAll(job, kKillMs);
      return false;
    case 'q':
      killAll(job, kKillMs);
      return true;
    default:
      return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int controlFd = -1;
  int dashes = 3;
  while (dashes < argc && strcmp(argv[dashes], "--") != 0) ++dashes;
  Wall wall = Wall::kNone;
  int mounts = 4;
  if (dashes > 3) wall = strcmp(argv[3], "user") == 0 ? Wall::kUser : Wall::kRoot;
  const bool bySudo = dashes > 5 && strcmp(argv[3], "sudo") == 0;
  if (bySudo) {
    mounts = 6;
    // `sudo` closes all but the first three descriptors.
    // A gate that is gone reads nothing, and would be waited for.
    statusFd = open(argv[5], O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (statusFd >= 0) fcntl(statusFd, F_SETFL, 0);
    controlFd = 0;
    fcntl(0, F_SETFD, FD_CLOEXEC);
  }
  if (argc < dashes + 2 || (bySudo ? statusFd < 0 : !parseFd(argv[1], controlFd) || !parseFd(argv[2], statusFd))) {
    const char usage[] = "usage: launcher <controlFd> <statusFd> [user|root|sudo <gate> <status> [mounts...]] -- command [arguments...]\n";
    return write(2, usage, sizeof usage - 1) < 0 ? 2 : 2;
  }
  const pid_t gate = getppid();
  for (const int signal : kIgnored) ::signal(signal, SIG_IGN);
  // SIGCHLD is unblocked only while waiting, so that none is lost between reaping and waiting.
  sigset_t childOnly;
  sigset_t none;
  sigemptyset(&childOnly);
  sigaddset(&childOnly, SIGCHLD);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &childOnly, nullptr);
  struct sigaction action {};
  action.sa_handler = onChild;
  sigaction(SIGCHLD, &action, nullptr);

  prctl(PR_SET_NAME, "slg-launcher", 0, 0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // If the command stops this process (SIGSTOP), it continues when the gate dies, and then ends the job.
  prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
  if (bySudo && !caller.read(static_cast<int>(strtol(argv[4], nullptr, 10)), controlFd)) {
    report("wall-failed caller EINVAL\n");
    return 1;
  }
  if (wall != Wall::kNone) enterWall(wall, controlFd, gate, argv + mounts, dashes - mounts, none);
  const stormlog_launcher::Command command = stormlog_launcher::startCommand(argv + dashes + 1, caller);
  const int error = command.error;
  commandPid = command.pid;
  goFd = command.goFd;
  execFd = command.execFd;
  char line[96];
  if (error != 0) {
    snprintf(line, sizeof line, "exec-failed %d %s\n", error, stormlog::errnoName(error));
    report(line);
    return 1;
  }
  snprintf(line, sizeof line, "pid %d\n", commandPid);
  report(line);

  static char marker[512];
  const char* value = getenv(kMarkerName);
  if (value != nullptr && *value != '\0' && strlen(value) + sizeof kMarkerName + 1 < sizeof marker) {
    snprintf(marker, sizeof marker, "%s=%s", kMarkerName, value);
  }
  static Descendants job(getpid(), marker);
  const timespec period = {0, kGateCheckMs * 1000000L};
  for (;;) {
    pollfd wait[2] = {{controlFd, POLLIN, 0}, {execFd, POLLIN, 0}};
    const int ready = ppoll(wait, 2, &period, &none);
    if (!isInit && gateStaysStopped(gate)) killAll(job, kKillMs);
    // The result of exec is reported before the exit of the command.
    if (execFd >= 0 && (ready < 0 || wait[1].revents != 0)) {
      pollfd again = {execFd, POLLIN, 0};
      if (poll(&again, 1, 0) > 0) readExecResult();
    }
    reap();
    if (ready <= 0 || wait[0].revents == 0) continue;
    char bytes[16];
    const ssize_t n = read(controlFd, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) {
      // Killed as `sudo` alone, the gate would take what is done here for the command's own end.
      commandReported = true;
      endOrphanedJob(job);
      return 0;
    }
    for (ssize_t i = 0; i < n; ++i) {
      if (obey(bytes[i], job)) return 0;
    }
  }
}
