// The wall around a job: a PID and a mount namespace of its own, whose init is the launcher. Nothing in it can signal,
// trace, limit or see what is outside, and nothing outlives the init.
#pragma once

#include <sys/types.h>

namespace stormlog_launcher {

// kUser: in a user namespace too, in which user and group are themselves, so that what is mounted stays. kRoot: without
// one, by a process that may mount: its command may undo the mounts, so that none is made but /proc.
enum class Wall { kNone, kUser, kRoot };

// Makes a child in the new namespaces, as `fork` does; -1 with errno.
pid_t forkIntoWall(Wall wall);

// In that child: maps the ids, mounts /proc, and what `mounts` lists as pairs "<kind><from>", "<to>": `from` appears at
// `to`, read-only (r; f: but for file systems mounted in it), writable again below that (w), or as it is (k). The step
// that failed, with errno; null when the wall stands.
const char* buildWall(Wall wall, uid_t user, gid_t group, char* const* mounts, int count);

}  // namespace stormlog_launcher
