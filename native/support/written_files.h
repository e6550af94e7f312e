// Whether this user could have written a file, and copies that are safe from writes. Linux only.
#pragma once

#include <string>

namespace stormlog {

// True when this user can neither have written the file nor have put it there. `path` is absolute and has no links.
// Always true for root, who could have written every file, so that the check could not accept any.
bool writtenByOthersOnly(const std::string& path);

// The whole file as bytes; "" when it is not a regular file, is larger than 64 MiB or cannot be read.
std::string contentOf(const std::string& path);

// A copy of the file in memory that cannot be written any more; a descriptor, or -1.
int sealedCopy(const std::string& path);

}  // namespace stormlog
