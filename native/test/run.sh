#!/usr/bin/env bash
# Builds and runs the C++ tests: plain, under AddressSanitizer with UndefinedBehaviorSanitizer, and under
# ThreadSanitizer. Needs g++ and its sanitizer libraries (Debian: g++). Usage: native/test/run.sh [plain] [asan] [tsan]
# [-- name-part]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

variants=()
filter=()
while [ $# -gt 0 ]; do
  case "$1" in --) shift; filter=("$@"); break ;; *) variants+=("$1"); shift ;; esac
done
[ ${#variants[@]} -gt 0 ] || variants=(plain asan tsan)

out=${STORMLOG_TEST_NATIVE_OUT:-$PWD/../build/native-test}
common=$out/common
mkdir -p "$common/full" "$common/v1" "$common/nocount"
${CC:-gcc} -O1 -Wall -Wextra -Werror -pthread -o "$common/child" test/programs/child.c
${CC:-gcc} -O1 -Wall -Wextra -Werror -pthread -o "$common/heap_host" test/programs/heap_host.c
${CC:-gcc} -O1 -Wall -Wextra -Werror -pthread -fsanitize=thread -o "$common/heap_host_tsan" test/programs/heap_host.c
${CC:-gcc} -O1 -Wall -Wextra -Werror -pthread -o "$common/stacks_host" test/programs/stacks_host.c -ldl
${CC:-gcc} -O1 -Wall -Wextra -Werror -pthread -fno-pie -no-pie -o "$common/heap_fixed" test/programs/heap_host.c
${CC:-gcc} -O1 -Wall -Wextra -Werror -pthread -fno-builtin -rdynamic -DOWN_MALLOC -o "$common/heap_own_malloc" test/programs/heap_host.c
for preloaded in heap stacks; do
  ${CXX:-g++} -std=c++17 -O1 -Wall -Wextra -Werror -fno-exceptions -fno-rtti -fvisibility=hidden -shared -fPIC \
    -o "$common/libstormlog_$preloaded.so" "preload/$preloaded.cc" -pthread -ldl
done
fake=$common/full/libnvidia-ml.so.1
fake-nvml/build.sh "$fake"
fake-nvml/without.sh "$fake" "$common/v1/libnvidia-ml.so.1" nvmlDeviceGetMemoryInfo_v2
fake-nvml/without.sh "$fake" "$common/nocount/libnvidia-ml.so.1" nvmlDeviceGetCount nvmlDeviceGetCount_v2
${CXX:-g++} -std=c++17 -O1 -Wall -Wextra -Werror -o "$common/launcher" launcher/launcher.cc launcher/descendants.cc launcher/wall.cc launcher/caller.cc launcher/start_command.cc support/errno_name.cc

shopt -s extglob
sources=(sampler.cc {records,devices}/*.cc support/!(no_libstdcxx).cc sources/{nvidia,probe,drm}/*.cc
  sources/host/!(host_darwin|cgroup_none).cc test/*.cc test/*/*.cc)
passed=0
failed=0
for variant in "${variants[@]}"; do
  case "$variant" in
    plain) flags=(-O2) ;;
    asan) flags=(-O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer) ;;
    tsan) flags=(-O1 -fsanitize=thread) ;;
    *) echo "run.sh: unknown variant '$variant' (plain, asan, tsan)" >&2; exit 2 ;;
  esac
  directory=$out/$variant
  mkdir -p "$directory"
  printf '%s\n' "${sources[@]}" | xargs -P 2 -I{} bash -c '
    object="$1/$(echo "$2" | tr / _).o"; source=$2; shift 2
    newest=$(ls -t "$source" *.h */*.h */*/*.h | head -1)
    [ "$object" -nt "$newest" ] || "${CXX:-g++}" -std=c++17 -g -Wall -Wextra -Wshadow -Werror "$@" -c "$source" -o "$object"' _ "$directory" {} "${flags[@]}"
  ${CXX:-g++} "${flags[@]}" "$directory"/*.o -o "$directory/tests" -pthread -ldl
  echo "== $variant"
  status=0
  NATIVE_TEST_BUILT=$common NATIVE_TEST_PROBE=$PWD/../probe ASAN_OPTIONS=detect_leaks=1 TSAN_OPTIONS=halt_on_error=0:exitcode=66 \
    "$directory/tests" "${filter[@]}" >"$directory/log" 2>&1 || status=$?
  cat "$directory/log"
  summary=$(grep -E '^passed [0-9]+ failed [0-9]+$' "$directory/log" || echo "passed 0 failed 1")
  passed=$((passed + $(echo "$summary" | cut -d' ' -f2)))
  these=$(echo "$summary" | cut -d' ' -f4)
  # A sanitizer's complaint ends the program with an error even when every check held.
  if [ "$status" -ne 0 ] && [ "$these" -eq 0 ]; then these=1; echo "$variant: ended with status $status"; fi
  failed=$((failed + these))
done
echo "native: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
