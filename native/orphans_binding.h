// Adopts processes that the measured command leaves behind, for `binding.cc`.
#pragma once

#define NAPI_VERSION 8
#include <napi.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif
#include <sys/wait.h>

#include <cstdint>

namespace stormlog {

// Makes this process the subreaper of its descendants (Linux). Returns whether it is.
inline Napi::Value adoptOrphans(const Napi::CallbackInfo& info) {
#if defined(__linux__)
  return Napi::Boolean::New(info.Env(), prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
#else
  return Napi::Boolean::New(info.Env(), false);
#endif
}

// Takes the exit status of one child that has ended. Never waits. Returns false where there is none.
inline Napi::Value reap(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const double pid = info[0].IsNumber() ? info[0].As<Napi::Number>().DoubleValue() : 0;
  // 0 and below would reap any child, including Node's own.
  const bool isPid = pid >= 1 && pid <= INT32_MAX;
  return Napi::Boolean::New(env, isPid && waitpid(static_cast<pid_t>(pid), nullptr, WNOHANG) == static_cast<pid_t>(pid));
}

}  // namespace stormlog
