#!/usr/bin/env bash
# Copies the fake NVIDIA library without some symbols, as in older drivers: their names are overwritten in the file, so
# that no compiler is needed. Usage: native/fake-nvml/without.sh LIBRARY COPY SYMBOL…
set -euo pipefail
library=$1 copy=$2
shift 2
script=''
for symbol in "$@"; do script+="s/^n\\(${symbol#n}\\)$/-\\1/;"; done
LC_ALL=C sed -z "$script" "$library" >"$copy"
