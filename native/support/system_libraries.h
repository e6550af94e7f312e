// Libraries that a process loads only from the system's directories, whatever LD_LIBRARY_PATH contains. Linux only.
#pragma once

#include <string>
#include <vector>

namespace stormlog {

// Paths without links of the libraries of this name in the loader's cache, the system's directories and those of
// vendors, without those that this user could have written. `reason` is set when there is none.
std::vector<std::string> systemLibraries(const std::string& name, std::string& reason);

// The services that a file like /etc/nsswitch.conf names for hosts and users, with the C library's default ones.
std::vector<std::string> nameServices(const std::string& configuration);

// Loads the libraries by which the C library resolves names. It would load them, with a search of LD_LIBRARY_PATH, when
// the first name is resolved, such as the host of an upload after the measured command.
void loadNameServices();

}  // namespace stormlog
