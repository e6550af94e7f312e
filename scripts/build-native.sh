#!/usr/bin/env bash
# Builds the shipped native files of linux-x64 and linux-arm64 into dist/prebuilds/ and writes their SHA-256 sums.
#
# Needs, on Debian 12 (amd64):
#   apt-get install --no-install-recommends cmake make g++ g++-aarch64-linux-gnu binutils libc6-dev
#   npm ci            (for node-addon-api and node-api-headers; nothing else is downloaded)
# Another compiler version makes other bytes; with the same one the output is the same bit for bit.
#
# Usage: scripts/build-native.sh [linux-x64|linux-arm64 …]     default: both
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Nothing of the machine's clock or language may reach the output.
export SOURCE_DATE_EPOCH=0 LC_ALL=C TZ=UTC

platforms=("$@")
[ ${#platforms[@]} -gt 0 ] || platforms=(linux-x64 linux-arm64)

for platform in "${platforms[@]}"; do
  case "$platform" in
    linux-x64) triple=x86_64-linux-gnu processor=x86_64 ;;
    linux-arm64) triple=aarch64-linux-gnu processor=aarch64 ;;
    *) echo "build-native: unknown platform '$platform' (linux-x64, linux-arm64)" >&2; exit 2 ;;
  esac
  compiler=$triple-g++
  command -v "$compiler" >/dev/null || { echo "build-native: $compiler is missing; the head of this script lists the packages" >&2; exit 1; }
  build=build/native/$platform
  cmake -S native -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Linux \
    -DCMAKE_SYSTEM_PROCESSOR="$processor" -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
  cmake --build "$build" --parallel 2 >"$build/build.log" 2>&1 || { cat "$build/build.log" >&2; exit 1; }
  mkdir -p "dist/prebuilds/$platform"
  for file in sampler.node launcher libstormlog_heap.so libstormlog_stacks.so; do
    # Through a new file: a running launcher keeps the old one.
    cp "$build/$file" "dist/prebuilds/$platform/.$file.new"
    mv -f "dist/prebuilds/$platform/.$file.new" "dist/prebuilds/$platform/$file"
    chmod 755 "dist/prebuilds/$platform/$file"
  done
done

(cd dist/prebuilds && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS && cat SHA256SUMS)
bash scripts/check-native.sh
