// Apple's graphics on macOS, through the I/O registry: one key of one entry, without an entitlement or a library.
// It counts the memory of all processes together. That of the measured ones is in their footprint (host_darwin.cc),
// because the memory is shared with the CPU.
#pragma once

#include <memory>

#include "../device_backend.h"

namespace stormlog {

std::unique_ptr<DeviceBackend> createAppleBackend();

}  // namespace stormlog
