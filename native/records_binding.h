// Reading back what a stopped sampler recorded, for `binding.cc`.
#pragma once

#define NAPI_VERSION 8
#include <napi.h>

#include <cerrno>

#include "records/record_writer.h"
#include "support/errno_name.h"

namespace stormlog {

// Fills the given Uint8Array with the next bytes, read through the descriptor that wrote them. Returns their number, 0
// at the end.
inline Napi::Value readRecords(const Napi::CallbackInfo& info, RecordWriter& records) {
  const Napi::Env env = info.Env();
  if (!info[1].IsTypedArray() || info[1].As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    Napi::TypeError::New(env, "stormlog sampler: readRecords takes a Uint8Array").ThrowAsJavaScriptException();
    return env.Undefined();
  }
  Napi::Uint8Array out = info[1].As<Napi::Uint8Array>();
  const ssize_t size = records.readBack(out.Data(), out.ByteLength());
  if (size >= 0) return Napi::Number::New(env, static_cast<double>(size));
  Napi::Error error = Napi::Error::New(env, std::string("stormlog sampler: cannot read the records back: ") + errnoText(errno));
  error.Set("code", Napi::String::New(env, errnoName(errno)));
  error.ThrowAsJavaScriptException();
  return env.Undefined();
}

// Whether `readRecords` returned what was written, and the descriptor, which stays open until `closeRecords`.
inline Napi::Value checkRecords(const Napi::CallbackInfo& info, RecordWriter& records) {
  const Napi::Env env = info.Env();
  Napi::Object result = Napi::Object::New(env);
  result.Set("intact", Napi::Boolean::New(env, records.intact()));
  result.Set("written", Napi::Number::New(env, static_cast<double>(records.bytes())));
  result.Set("descriptor", Napi::Number::New(env, records.fd()));
  return result;
}

inline Napi::Value closeRecords(const Napi::CallbackInfo& info, RecordWriter& records) {
  records.release();
  return info.Env().Undefined();
}

}  // namespace stormlog
