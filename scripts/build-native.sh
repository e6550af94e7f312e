#!/usr/bin/env bash
# Builds the shipped native files of Linux, for glibc and for musl, into dist/prebuilds/ and writes their SHA-256 sums.
#
# Needs, on Debian 12 (amd64):
#   apt-get install --no-install-recommends cmake make g++ g++-aarch64-linux-gnu binutils libc6-dev python3-venv
#   npm ci            (for node-addon-api and node-api-headers)
# The compiler for musl is Zig's, from PyPI, put into build/zig (or $STORMLOG_ZIG) once.
# Another compiler version makes other bytes; with the same one the output is the same bit for bit.
#
# Usage: scripts/build-native.sh [linux-x64|linux-arm64|linux-x64-musl|linux-arm64-musl …]     default: all
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Nothing of the machine's clock or language may reach the output.
export SOURCE_DATE_EPOCH=0 LC_ALL=C TZ=UTC

platforms=("$@")
[ ${#platforms[@]} -gt 0 ] || platforms=(linux-x64 linux-arm64 linux-x64-musl linux-arm64-musl)

zig_home=${STORMLOG_ZIG:-$PWD/build/zig}
zig=ziglang==0.13.0
zig_hash=sha256:3ce0c9f16547e5d61b32e0d226926e9a2552ef4b91fccf7ab5ea1a623a77824b

# zig_compiler TARGET FILE: writes a C++ compiler for musl. Linking as C leaves libc++ out (see no_libstdcxx.cc).
zig_compiler() {
  if [ "$("$zig_home/bin/python" -m ziglang version 2>/dev/null)" != "${zig#*==}" ]; then
    python3 -m venv "$zig_home"
    "$zig_home/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes -r <(echo "$zig --hash=$zig_hash")
  fi
  cat >"$2" <<SH
#!/bin/sh
language=cc
for argument; do [ "\$argument" = -c ] && language=c++; done
export ZIG_GLOBAL_CACHE_DIR="$zig_home/cache" ZIG_LOCAL_CACHE_DIR="$zig_home/cache"
exec "$zig_home/bin/python" -m ziglang "\$language" -target $1 "\$@"
SH
  chmod +x "$2"
}

for platform in "${platforms[@]}"; do
  case "$platform" in
    linux-x64 | linux-x64-musl) processor=x86_64 ;;
    linux-arm64 | linux-arm64-musl) processor=aarch64 ;;
    *) echo "build-native: unknown platform '$platform' (linux-x64, linux-arm64, each also with -musl)" >&2; exit 2 ;;
  esac
  build=build/native/$platform
  mkdir -p "$build"
  compiler=$processor-linux-gnu-g++ musl=OFF files=(sampler.node launcher libstormlog_heap.so libstormlog_stacks.so)
  if [[ $platform = *-musl ]]; then
    compiler=$PWD/$build/c++ musl=ON files=(sampler.node launcher)
    zig_compiler "$processor-linux-musl" "$compiler"
  fi
  command -v "$compiler" >/dev/null || { echo "build-native: $compiler is missing; the head of this script lists the packages" >&2; exit 1; }
  cmake -S native -B "$build" -DMUSL=$musl -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Linux \
    -DCMAKE_SYSTEM_PROCESSOR="$processor" -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
  cmake --build "$build" --parallel 2 >"$build/build.log" 2>&1 || { cat "$build/build.log" >&2; exit 1; }
  mkdir -p "dist/prebuilds/$platform"
  for file in "${files[@]}"; do
    # Through a new file: a running launcher keeps the old one.
    cp "$build/$file" "dist/prebuilds/$platform/.$file.new"
    mv -f "dist/prebuilds/$platform/.$file.new" "dist/prebuilds/$platform/$file"
    chmod 755 "dist/prebuilds/$platform/$file"
  done
done

(cd dist/prebuilds && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS && cat SHA256SUMS)
bash scripts/check-native.sh
