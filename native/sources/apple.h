// Apple's graphics on macOS, through the I/O registry: one key of one entry, no entitlement, no library of one's own. It tells what all
// processes together use; what the measured ones use is in their footprint (host_darwin.cc), for there is one memory.
#pragma once

#include <memory>

#include "device_backend.h"

namespace stormlog {

std::unique_ptr<DeviceBackend> createAppleBackend();

}  // namespace stormlog
