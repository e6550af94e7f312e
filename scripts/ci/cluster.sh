#!/usr/bin/env bash
# Installs what the cluster tests start for real, on Debian or Ubuntu: Slurm, Open MPI and MPICH. No daemon of the
# system is started or left enabled; scripts/ci/slurm.sh starts a separate cluster in a directory. libpmix-dev has the
# name by which Slurm finds PMIx.
#
# Usage: scripts/ci/cluster.sh
set -euo pipefail
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

# Read by the packages' scripts: 101 = this service is not to be started.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
  trap 'as_root rm -f "$policy"' EXIT
fi
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 \
  munge slurmctld slurmd slurm-client libpmix-dev openmpi-bin mpich
