// The launcher as a program: what it reports, and that no process of a job outlives it.
#include "launch.h"

using testing_support::built;
using testing_support::Launch;
using testing_support::sleepMs;
using testing_support::TempDirectory;

namespace {

// Processes that run our child program with this number in their arguments.
int running(const std::string& number) {
  FILE* pipe = popen(("for p in /proc/[0-9]*; do [ -r $p/exe ] && [ \"$(readlink $p/exe)\" = \"$(readlink -f " + built("child") +
                      ")\" ] && tr '\\0' ' ' <$p/cmdline | grep -qF ' " + number + "' && echo x; done 2>/dev/null | wc -l").c_str(), "r");
  int count = -1;
  if (std::fscanf(pipe, "%d", &count) != 1) count = -1;
  pclose(pipe);
  return count;
}

// Whether the job comes to two processes: one that forks away has three for a moment.
bool hasTwo(const std::string& number) {
  for (int i = 0; i < 1000 && running(number) != 2; ++i) sleepMs(10);
  return running(number) == 2;
}

bool startsWith(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

}  // namespace

TEST("the command waits for its go and its exit code is reported") {
  Launch launch({"sh", "-c", "exit 7"});
  CHECK(startsWith(launch.line(), "pid "));
  launch.send('g');
  CHECK(launch.line() == "started");
  CHECK(launch.line() == "exit 7");
  launch.send('q');
  CHECK_EQ(launch.wait(2000), 0);
}

TEST("death by a signal is reported with its number") {
  Launch launch({"sh", "-c", "kill -USR1 $$"});
  launch.line();
  launch.send('g');
  launch.line();
  CHECK(launch.line() == "signal 10 0");
}

TEST("a command that cannot run is reported with its errno, and nothing after it") {
  Launch missing({"/no/such/program"});
  missing.line();
  missing.send('g');
  CHECK(missing.line() == "exec-failed 2 ENOENT");
  missing.send('q');
  CHECK(missing.line().empty());
  Launch denied({"/etc/passwd"});
  denied.line();
  denied.send('g');
  CHECK(denied.line() == "exec-failed 13 EACCES");
}

TEST("the command gets default signal dispositions and no extra descriptors") {
  Launch launch({"sh", "-c", "test \"$(grep -E '^Sig(Ign|Blk)' /proc/self/status | tr -d '0\\t\\n')\" = 'SigBlk:SigIgn:' && test ! -e /proc/self/fd/100 -a ! -e /proc/self/fd/101"});
  launch.line();
  launch.send('g');
  launch.line();
  CHECK(launch.line() == "exit 0");
}

TEST("what is to be preloaded goes to the command, not to the launcher") {
  const std::string library = built("libstormlog_heap.so");
  const std::string variable = "STORMLOG_GATE_LD_PRELOAD=" + library;
  const std::string check = "test \"$LD_PRELOAD\" = " + library + " && test -z \"$STORMLOG_GATE_LD_PRELOAD\" && test -n \"$PATH\" && test -n \"$STORMLOG_GATE_RUN\"";
  Launch launch({"/bin/sh", "-c", check}, "STORMLOG_GATE_RUN=launcher-test", variable.c_str());
  CHECK(launch.line().compare(0, 4, "pid ") == 0);
  launch.send('g');
  CHECK(launch.line() == "started");
  CHECK(launch.line() == "exit 0");
  launch.send('q');
  CHECK_EQ(launch.wait(2000), 0);
}

TEST("when the gate dies the whole job ends within two seconds, stubborn and detached ones too") {
  Launch launch({built("child"), "stubborn", "31337001"});
  launch.line();
  launch.send('g');
  CHECK(launch.line() == "started");
  CHECK(hasTwo("31337001"));
  const uint64_t begin = stormlog::monotonicNs();
  launch.hangUp();
  CHECK_EQ(launch.wait(3000), 0);
  CHECK(stormlog::monotonicNs() - begin < 2 * stormlog::kSecond);
  CHECK_EQ(running("31337001"), 0);
}

TEST("a daemon that double-forked is ended with the job") {
  Launch launch({built("child"), "daemon", "1", "31337002"});
  launch.line();
  launch.send('g');
  launch.line();
  CHECK(hasTwo("31337002"));
  launch.send('q');
  CHECK_EQ(launch.wait(3000), 0);
  CHECK_EQ(running("31337002"), 0);
}

TEST("five hundred children are ended at one word") {
  Launch launch({built("child"), "fork", "500", "31337003"});
  launch.line();
  launch.send('g');
  launch.line();
  sleepMs(700);
  launch.send('k');
  CHECK(launch.line() == "signal 9 0");
  launch.send('q');
  CHECK_EQ(launch.wait(3000), 0);
  CHECK_EQ(running("31337003"), 0);
}

TEST("a job that never got its go ends quietly with the gate") {
  Launch launch({built("child"), "sleep", "31337004"});
  launch.line();
  launch.hangUp();
  CHECK_EQ(launch.wait(3000), 0);
  CHECK_EQ(running("31337004"), 0);
}

TEST("an interrupt reaches the command, and its exit is reported") {
  TempDirectory directory;
  const std::string ready = directory / "ready";
  Launch launch({"sh", "-c", "trap 'exit 9' INT; : >\"$0\"; while :; do sleep 0.05; done", ready});
  launch.line();
  launch.send('g');
  launch.line();
  for (int i = 0; i < 1000 && access(ready.c_str(), F_OK) != 0; ++i) sleepMs(10);
  launch.send('i');
  CHECK(launch.line() == "exit 9");
}

TEST("a launcher that its job stopped ends the job when the gate is killed") {
  int channel[2];
  CHECK(pipe2(channel, O_CLOEXEC) == 0);
  const pid_t gate = fork();
  if (gate == 0) {
    Launch launch({built("child"), "stubborn", "31337005"});
    launch.line();
    launch.send('g');
    launch.line();
    const pid_t launcher = launch.pid();
    if (write(channel[1], &launcher, sizeof launcher) != sizeof launcher) _exit(1);
    for (;;) pause();
  }
  pid_t launcher = 0;
  CHECK(read(channel[0], &launcher, sizeof launcher) == static_cast<ssize_t>(sizeof launcher));
  close(channel[0]);
  close(channel[1]);
  CHECK(hasTwo("31337005"));
  CHECK_EQ(kill(launcher, SIGSTOP), 0);
  CHECK_EQ(kill(gate, SIGKILL), 0);
  CHECK_EQ(waitpid(gate, nullptr, 0), gate);
  for (int i = 0; i < 300 && running("31337005") > 0; ++i) sleepMs(10);
  CHECK_EQ(running("31337005"), 0);
}

namespace {

// A gate in a process of its own, whose pid is GATE in the command. It passes on the lines of its launcher.
class Gate {
 public:
  explicit Gate(void (*prepare)(), std::vector<std::string> command) {
    int channel[2];
    CHECK(pipe2(channel, O_CLOEXEC) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      prepare();
      for (std::string& each : command) each = each == "GATE" ? std::to_string(getpid()) : each;
      // A launcher whose gate was killed ends every process with its marker.
      Launch launch(command, ("STORMLOG_GATE_RUN=gate-" + std::to_string(getpid())).c_str());
      launch.line();
      launch.send('g');
      for (;;) {
        const std::string line = launch.line();
        if (line.empty() && launch.wait(5) >= 0) _exit(0);
        if (!line.empty() && write(channel[1], (line + "\n").c_str(), line.size() + 1) < 0) _exit(1);
      }
    }
    close(channel[1]);
    reports_ = fdopen(channel[0], "r");
  }
  ~Gate() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    fclose(reports_);
  }
  std::string line() {
    char text[64] = "";
    return fgets(text, sizeof text, reports_) == nullptr ? "" : text;
  }
  void stop() {
    CHECK_EQ(kill(pid_, SIGSTOP), 0);
    CHECK_EQ(waitpid(pid_, nullptr, WUNTRACED), pid_);
  }
  bool continuedWithin(uint64_t ms) {
    for (uint64_t i = 0; i < ms; i += 5) {
      if (waitpid(pid_, nullptr, WCONTINUED | WNOHANG) == pid_) return true;
      sleepMs(5);
    }
    return false;
  }

 private:
  pid_t pid_ = -1;
  FILE* reports_ = nullptr;
};

void leaveTerminal() { setsid(); }
void leaveForeground() { setpgid(0, 0); }

}  // namespace

TEST("a stopped gate is continued, and its job runs on") {
  Gate gate(leaveTerminal, {built("child"), "sleep", "31337006"});
  CHECK(gate.line() == "started\n");
  gate.stop();
  CHECK(gate.continuedWithin(10000));
  CHECK_EQ(running("31337006"), 1);
}

TEST("a job that stops the gate again and again is ended") {
  Gate gate(leaveTerminal, {"sh", "-c", "while :; do kill -STOP $0; done", "GATE"});
  CHECK(gate.line() == "started\n");
  CHECK(gate.line() == "signal 9 0\n");
}

TEST("a gate that was suspended in a terminal stays stopped") {
  const pid_t shell = fork();
  if (shell == 0) {
    setsid();
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    // The first terminal that a session's leader opens controls it.
    if (grantpt(terminal) != 0 || unlockpt(terminal) != 0 || open(ptsname(terminal), O_RDWR) < 0) _exit(2);
    bool left = false;
    {
      Gate gate(leaveForeground, {built("child"), "sleep", "31337007"});
      if (gate.line() != "started\n") _exit(3);
      gate.stop();
      // Several times the launcher's period.
      left = !gate.continuedWithin(2000);
    }
    _exit(left ? 0 : 1);
  }
  int status = -1;
  CHECK_EQ(waitpid(shell, &status, 0), shell);
  CHECK_EQ(status, 0);
}
