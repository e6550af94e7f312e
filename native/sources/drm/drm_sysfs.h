// Reading sysfs, or a made-up tree of the same shape: small files, names of links and directories, and numbers from
// kept descriptors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../../support/unique_fd.h"

namespace stormlog {

// The file without white space at its end; "" when it cannot be read. Allocates: for the probe only.
std::string sysText(const std::string& path, size_t limit = 4096);

// A decimal number alone in its file; false when there is none.
bool sysNumber(const std::string& path, uint64_t& out);

// Base name of the target of a symbolic link; "" for any other file.
std::string sysLinkName(const std::string& path);

// Names in a directory, without "." and "..", in the order of `strcmp`.
std::vector<std::string> sysNames(const std::string& path);

// `prefix` followed by nothing but digits: the number, else -1.
int numberAfter(const char* name, const char* prefix);

// "0000:03:00.0" and nothing else.
bool isPciAddress(const std::string& text);

UniqueFd openSys(const std::string& path);

// 0, or an errno: the kernel's, or ENODATA when the file has no number. Allocates nothing.
int readKept(const UniqueFd& fd, uint64_t& out);

}  // namespace stormlog
