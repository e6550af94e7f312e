// Libraries that a process loads only from the system's directories, whatever LD_LIBRARY_PATH contains, and not where
// this user could have written the file. Linux only.
#pragma once

#include <string>
#include <vector>

namespace stormlog {

// True when this user can neither have written the file nor have put it there. `path` is absolute and has no links.
// Always true for root, who could have written every file, so that the check could not accept any.
bool writtenByOthersOnly(const std::string& path);

// The whole file as bytes; "" when it is not a regular file, is larger than 64 MiB or cannot be read.
std::string contentOf(const std::string& path);

// A copy of the file in memory that cannot be written any more; a descriptor, or -1.
int sealedCopy(const std::string& path);

// The paths of the libraries named `soname` that are built for this machine in the bytes of a dynamic loader's cache
// (/etc/ld.so.cache, glibc's format of 1999 and later), in its order. The bytes may be any.
std::vector<std::string> loaderCachePaths(const std::string& cache, const std::string& soname);

// Paths without links of the libraries of this name in the loader's cache, the system's directories and those of
// vendors, without those that this user could have written. `reason` is set when there is none.
std::vector<std::string> systemLibraries(const std::string& name, std::string& reason);

// The services that a file like /etc/nsswitch.conf names for hosts and users, with the C library's default ones.
std::vector<std::string> nameServices(const std::string& configuration);

// Loads the libraries by which the C library resolves names. It would load them, with a search of LD_LIBRARY_PATH, when
// the first name is resolved, such as the host of an upload after the measured command.
void loadNameServices();

}  // namespace stormlog
