#!/usr/bin/env bash
# Measures the leak lab's baselines for this environment and adds them to baselines/, as separate sessions: with
# three sessions or more the records also contain the spread between sessions, and with twenty runs a breach
# takes fewer runs to confirm.
#
#   bash scripts/leak-lab-baselines.sh [SESSIONS [RUNS]]        (default 4 sessions of 5 runs)
#
# GATE is the command line to use (default: the built one of this checkout). `python3` on the PATH needs PyTorch.
set -euo pipefail
cd "$(dirname "$0")/.."
sessions=${1:-4}
runs=${2:-5}
read -ra gate <<<"${GATE:-node dist/cli.js}"
for ((session = 1; session <= sessions; session++)); do
  echo "session $session of $sessions"
  "${gate[@]}" baseline refresh --config leak-lab/stormlog-gate.yml --runs "$runs"
done
"${gate[@]}" baseline verify --baseline file:baselines
