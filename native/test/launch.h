// A launcher around a command, as the gate starts it.
#pragma once

#include <poll.h>

#include "harness.h"
#include "support.h"

namespace testing_support {

class Launch {
 public:
  // `wall`: arguments for one. `user`: who runs the launcher, 0 for this process's own.
  explicit Launch(std::vector<std::string> command, const char* marker = "STORMLOG_GATE_RUN=launcher-test", const char* more = nullptr,
                  const std::vector<std::string>& wall = {}, uid_t user = 0) {
    int control[2];
    int status[2];
    if (pipe2(control, O_CLOEXEC) != 0 || pipe2(status, O_CLOEXEC) != 0) return;
    control_ = control[1];
    status_ = status[0];
    pid_ = fork();
    if (pid_ == 0) {
      // High numbers first, so that neither overwrites the other.
      const int c = fcntl(control[0], F_DUPFD, 100);
      const int s = fcntl(status[1], F_DUPFD, 100);
      const std::string cText = std::to_string(c);
      const std::string sText = std::to_string(s);
      const std::string program = built("launcher");
      std::vector<const char*> argv = {program.c_str(), cText.c_str(), sText.c_str()};
      for (const std::string& each : wall) argv.push_back(each.c_str());
      argv.push_back("--");
      for (const std::string& each : command) argv.push_back(each.c_str());
      argv.push_back(nullptr);
      if (user != 0 && (setgid(user) != 0 || setuid(user) != 0)) _exit(125);
      const char* environment[] = {marker, "PATH=/usr/bin:/bin", more, nullptr};
      execve(program.c_str(), const_cast<char**>(argv.data()), const_cast<char**>(environment));
      _exit(126);
    }
    close(control[0]);
    close(status[1]);
  }
  ~Launch() {
    hangUp();
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    close(status_);
  }
  void send(char byte) { CHECK(write(control_, &byte, 1) == 1); }
  void hangUp() {
    if (control_ >= 0) close(control_);
    control_ = -1;
  }
  // The next line, or "" after five seconds or at the end.
  std::string line() {
    std::string text;
    for (;;) {
      pollfd wait = {status_, POLLIN, 0};
      if (poll(&wait, 1, 5000) <= 0) return text;
      char c = 0;
      if (read(status_, &c, 1) != 1 || c == '\n') return text;
      text += c;
    }
  }
  pid_t pid() const { return pid_; }
  // Exit status of the launcher; -1 when it did not end in time.
  int wait(uint64_t ms) {
    for (uint64_t i = 0; i < ms; i += 5) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return status;
      }
      sleepMs(5);
    }
    return -1;
  }

 private:
  pid_t pid_ = -1;
  int control_ = -1;
  int status_ = -1;
};

}  // namespace testing_support
