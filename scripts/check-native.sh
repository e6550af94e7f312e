#!/usr/bin/env bash
# Checks the shipped native files: right machine type, no glibc newer than 2.28 required (2.17 in files loaded into
# measured programs, none in those for musl), under 400 kB, sums as written down. Needs binutils (readelf reads every
# machine type).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../dist/prebuilds"
export LC_ALL=C

largest_allowed=400000
failed=0
problem() { echo "check-native: $1" >&2; failed=1; }

for platform in linux-x64:X86-64 linux-arm64:AArch64 linux-x64-musl:X86-64 linux-arm64-musl:AArch64; do
  directory=${platform%%:*}
  machine=${platform##*:}
  files=(sampler.node launcher libstormlog_heap.so libstormlog_stacks.so)
  [[ $directory != *-musl ]] || files=(sampler.node launcher)
  for file in "${files[@]/#/$directory/}"; do
    [ -f "$file" ] || { problem "$file is missing"; continue; }
    readelf -h "$file" | grep -q "Machine:.*$machine" || problem "$file is not a file for $machine"
    case "$file" in *libstormlog_*.so) newest_allowed=2.17 ;; *) newest_allowed=2.28 ;; esac
    size=$(stat -c %s "$file")
    [ "$size" -lt "$largest_allowed" ] || problem "$file has $size bytes, more than $largest_allowed"
    newest=$(readelf -V "$file" | { grep -oE 'GLIBC_[0-9.]+' || true; } | sed 's/GLIBC_//' | sort -uV | tail -1)
    case "$directory:$newest" in *-musl: | linux-x64:?* | linux-arm64:?*) ;; *) problem "$file needs glibc '$newest'" ;; esac
    [ "$(printf '%s\n%s\n' "$newest" "$newest_allowed" | sort -V | tail -1)" = "$newest_allowed" ] ||
      problem "$file needs glibc $newest, newer than $newest_allowed"
    needed=$(readelf -d "$file" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | tr '\n' ' ')
    case " $needed" in *stdc++* | *gcc_s*) problem "$file needs a C++ run-time library: $needed" ;; esac
    # Beyond the C library the addon may require Node's interface only. Symbols of musl have no version.
    library='@|^napi_|^node_api_'
    [[ $directory != *-musl ]] || library='^[a-z]|^__[a-z]'
    if [ "${file##*/}" = sampler.node ]; then
      foreign=$(readelf --dyn-syms -W "$file" | awk '$7 == "UND" && $5 != "WEAK" && $8 != "" { print $8 }' | grep -vE "$library" || true)
      [ -z "$foreign" ] || problem "$file needs symbols that no library provides: $foreign"
    fi
    wanted=
    case "${file##*/}" in
      libstormlog_heap.so) wanted="stormlog_gate_last_step stormlog_gate_step stormlog_heap_threads " ;;
      libstormlog_stacks.so)
        wanted="aligned_alloc calloc free malloc memalign posix_memalign realloc stormlog_stacks_categorize stormlog_stacks_frames stormlog_stacks_objects stormlog_stacks_phase stormlog_stacks_python stormlog_stacks_state stormlog_stacks_threads stormlog_stacks_write "
        ;;
    esac
    if [ -n "$wanted" ]; then
      exported=$(readelf --dyn-syms -W "$file" | awk '$7 != "UND" && $7 ~ /^[0-9]+$/ && ($5 == "GLOBAL" || $5 == "WEAK") { print $8 }' | sort | tr '\n' ' ')
      [ "$exported" = "$wanted" ] || problem "$file exports $exported instead of $wanted"
    fi
    echo "$file  $size bytes  $machine  glibc ${newest:-none}  needs ${needed% }"
  done
done
sha256sum --quiet -c SHA256SUMS || problem "SHA256SUMS does not match the files; run scripts/build-native.sh"
exit "$failed"
