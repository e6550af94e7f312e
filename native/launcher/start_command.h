// The process of the command, which waits for a word of the launcher.
#pragma once

#include <sys/types.h>

#include "caller.h"

namespace stormlog_launcher {

struct Command {
  pid_t pid;
  // Takes one byte, at which the command runs.
  int goFd;
  // The exec error arrives here; end of file means that the command runs.
  int execFd;
  // Of what failed; 0 when it is there.
  int error;
};

Command startCommand(char** command, const Caller& caller);

}  // namespace stormlog_launcher
