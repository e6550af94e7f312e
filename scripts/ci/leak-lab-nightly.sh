#!/usr/bin/env bash
# Rounds of the leak lab, one after the other, by stored baselines: every leak has to be found without a false
# alarm, each time.
#
#   bash scripts/ci/leak-lab-nightly.sh [PATTERN…]              (default: all that can run here)
#
# ROUNDS    how many (default 5)
# BASELINE  the store (default file:baselines; a pattern without a record of this environment measures one)
# OUTPUT    directory of the rounds, recreated (default build/leak-lab-rounds)
# PYTHON    the Python with PyTorch (default python3)
# GATE      command line to use (default: the built one of this checkout)
#
# Ends with 1 when an outcome of any round differs from the catalogue; the others are made all the same.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
rounds=${ROUNDS:-5}
output=${OUTPUT:-build/leak-lab-rounds}
read -ra gate <<<"${GATE:-node dist/cli.js}"
[[ "$rounds" =~ ^[1-9][0-9]*$ ]] || { echo "ROUNDS \"$rounds\" is not a number of rounds" >&2; exit 2; }
rm -rf "$output"
mkdir -p "$output" || exit 1
"${gate[@]}" lab list --json >"$output/catalogue.json" 2>"$output/catalogue.log" || { cat "$output/catalogue.log" >&2; exit 1; }
failed=0
for ((round = 1; round <= rounds; round++)); do
  started=$SECONDS
  printf '\n=== round %d of %d\n' "$round" "$rounds"
  "${gate[@]}" lab run "$@" --baseline "${BASELINE:-file:baselines}" --python "${PYTHON:-python3}" --output "$output/$round" ||
    failed=$((failed + 1))
  printf -- '--- round %d: %d s\n' "$round" $((SECONDS - started))
done
printf '\n'
node scripts/ci/leak-lab-summary.mjs "$output" "$rounds" "$@" || failed=$((failed + 1))
[ "$failed" -eq 0 ]
