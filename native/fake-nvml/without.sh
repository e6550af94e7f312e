#!/usr/bin/env bash
# A copy of the fake NVIDIA library in which some symbols cannot be found, as in older drivers: their names are spoilt
# in the file, so that no compiler is needed. Usage: native/fake-nvml/without.sh LIBRARY COPY SYMBOL…
set -euo pipefail
library=$1 copy=$2
shift 2
script=''
for symbol in "$@"; do script+="s/^n\\(${symbol#n}\\)$/-\\1/;"; done
LC_ALL=C sed -z "$script" "$library" >"$copy"
