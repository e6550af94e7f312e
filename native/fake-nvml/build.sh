#!/usr/bin/env bash
# Builds the fake NVIDIA library. Needs a C compiler. Its functions call each other directly, so that one of them can be
# taken out. Usage: native/fake-nvml/build.sh FILE [compiler flag…]
set -euo pipefail
out=$1
shift
cd "$(dirname "${BASH_SOURCE[0]}")"
${CC:-gcc} -std=gnu11 -O1 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -Wl,-Bsymbolic-functions -pthread "$@" -o "$out" ./*.c
