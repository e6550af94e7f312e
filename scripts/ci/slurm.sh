#!/usr/bin/env bash
# A whole Slurm on one machine, for tests: munged, slurmctld and two slurmd (node1, node2), everything in one directory.
# Nothing outside of it is written, no service manager is used, root is not needed (then only the own user's jobs run),
# and neither are cgroups: processes are found by parentage. As root each node has its own host name, as on a
# cluster; else both have the machine's.
#
# Usage: scripts/ci/slurm.sh up|down|status DIR [PID]
#   up      start whatever of it does not run, and wait until both nodes are idle; then `. DIR/env` leads srun and the
#           others there. With PID everything ends when that process is gone, for whatever reason
#   down    end every job and daemon; the directory stays, for its logs
#   status  what runs; 0 when all does
set -euo pipefail

usage() { sed -nE '2,/^set /s/^# ?//p' "${BASH_SOURCE[0]}"; exit 2; }
[ $# -eq 2 ] || { [ $# -eq 3 ] && [ "$1" = up ]; } || usage
action=$1
owner=${3:-}
script=$(realpath "${BASH_SOURCE[0]}")
dir=$(realpath -m "$2")
nodes=(node1 node2)
export SLURM_CONF="$dir/slurm.conf" PATH="$PATH:/usr/sbin:/sbin"

say() { echo "slurm: $1" >&2; }
die() { say "$1"; exit 1; }

# Each daemon writes its pid file; a pid counts only while it is still that program.
running() {
  local name=$1 file="$dir/run/$2.pid" pid
  pid=$(cat "$file" 2>/dev/null) && [ -n "$pid" ] || return 1
  [[ $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") == *"$name"* ]] && echo "$pid"
}

free_ports() {
  node -e '
    const servers = Array.from({ length: Number(process.argv[1]) }, () => require("node:net").createServer().listen(0));
    const wait = Promise.all(servers.map((one) => new Promise((resolve) => one.on("listening", resolve))));
    wait.then(() => { console.log(servers.map((one) => one.address().port).join(" ")); servers.map((one) => one.close()); });
  ' "$1"
}

# Prints a command that runs what follows it under the host name of the node.
as_node() {
  # shellcheck disable=SC2016
  [ "$named" = no ] || printf '%s\0' unshare --uts sh -c 'hostname "$0" && exec "$@"' "$1"
}
named=no
[ "$(id -u)" -ne 0 ] || ! unshare --uts true 2>/dev/null || named=yes

configure() {
  local ports host user node at=1
  read -ra ports <<<"$(free_ports 3)"
  host=$(hostname)
  user=$(id -un)
  mkdir -p "$dir"/{run,log,state,munge,spool/node1,spool/node2,tmp/node1,tmp/node2}
  chmod 755 "$dir" "$dir/run"
  chmod 700 "$dir/munge"
  [ -s "$dir/munge/key" ] || (umask 077 && head -c 1024 /dev/urandom >"$dir/munge/key")
  # Ten CPUs a node, whatever the machine has: what tests run mostly waits, and should not queue. Steps of preempted and
  # cancelled jobs get SIGTERM first and 15 s to end.
  cat >"$SLURM_CONF" <<CONF
ClusterName=stormlog-test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=${ports[0]}
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
PrologFlags=NoHold
LaunchParameters=send_gids
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0,sched_interval=2,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
KillWait=30
SlurmctldTimeout=10
SlurmdTimeout=60
TCPTimeout=2
MessageTimeout=10
ReturnToService=2
MinJobAge=300
SlurmdParameters=config_overrides
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
TmpFS=$dir/tmp/%n
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
$(
  for node in "${nodes[@]}"; do
    [ $named = yes ] && name=$node || name=$host
    echo "NodeName=$node NodeHostname=$name NodeAddr=127.0.0.1 Port=${ports[at]} CPUs=10 State=UNKNOWN"
    at=$((at + 1))
  done
)
PartitionName=main Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
PartitionName=spare Nodes=node1,node2 MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=CANCEL GraceTime=120
PartitionName=urgent Nodes=node1,node2 MaxTime=INFINITE State=UP PriorityTier=20 PreemptMode=OFF
CONF
  printf 'export SLURM_CONF=%q\n' "$SLURM_CONF" >"$dir/env"
}

start_munge() {
  running munged munged >/dev/null && return
  rm -f "$dir"/run/munge.socket*
  # --force: the directories above may be writable by others, as /tmp is.
  munged --force --key-file="$dir/munge/key" --socket="$dir/run/munge.socket" --pid-file="$dir/run/munged.pid" \
    --log-file="$dir/log/munged.log" --seed-file="$dir/munge/seed" --num-threads=2 2>>"$dir/log/start.log"
}

start_slurm() {
  running slurmctld slurmctld >/dev/null || slurmctld -c -f "$SLURM_CONF" >>"$dir/log/start.log" 2>&1
  local node prefix
  for node in "${nodes[@]}"; do
    mapfile -d '' -t prefix < <(as_node "$node")
    running slurmd "slurmd-$node" >/dev/null || "${prefix[@]}" slurmd -N "$node" -f "$SLURM_CONF" >>"$dir/log/start.log" 2>&1
  done
}

# When the tests are killed, `down` is not called.
watch_owner() {
  [ -n "$owner" ] && ! [ -e "$dir/run/owner-$owner" ] || return 0
  : >"$dir/run/owner-$owner"
  # shellcheck disable=SC2016
  setsid bash -c 'while kill -0 "$1" && [ -e "$3/run/owner-$1" ]; do sleep 1; done; [ ! -e "$3/run/owner-$1" ] || bash "$2" down "$3"' \
    bash "$owner" "$script" "$dir" >/dev/null 2>&1 </dev/null &
}

idle() { [ "$(sinfo --noheader --partition=main --Node --states=idle --format=%N 2>/dev/null | wc -l)" -eq ${#nodes[@]} ]; }

up() {
  local program tries
  for program in munged slurmctld slurmd srun sinfo node; do
    command -v "$program" >/dev/null || die "$program is not installed: scripts/ci/cluster.sh"
  done
  # A socket's address is at most 107 bytes.
  [ ${#dir} -le 85 ] || die "the directory's path is too long for a socket: $dir"
  if status >/dev/null; then say "is up: $dir"; watch_owner; return; fi
  [ -s "$SLURM_CONF" ] || configure
  watch_owner
  start_munge || die "munged did not start: $(tail -n 3 "$dir/log/munged.log" "$dir/log/start.log" 2>&1)"
  start_slurm || die "a daemon did not start: $(tail -n 5 "$dir"/log/*.log)"
  for ((tries = 0; tries < 150; tries++)); do
    idle && { say "two nodes are idle: . $dir/env"; return; }
    sleep 0.2
  done
  sinfo --Node --long >&2 || true
  tail -n 20 "$dir"/log/*.log >&2
  die "the nodes did not come up in 30 s"
}

# What daemons do not end: the steps (a daemon leaves them alone, so that it can be started again), what the steps ran,
# and clients that wait for them. All of it carries the configuration's path in its environment.
leftovers() {
  local entry
  for entry in /proc/[0-9]*; do
    grep -qzxF "SLURM_CONF=$SLURM_CONF" "$entry/environ" 2>/dev/null || continue
    case $(cat "$entry/comm" 2>/dev/null) in
      srun | sbatch | salloc | slurmstepd) echo "${entry#/proc/}" ;;
      *) ! grep -qz '^SLURM_JOB_ID=' "$entry/environ" 2>/dev/null || echo "${entry#/proc/}" ;;
    esac
  done
}

# Zombies do not count: their parent may be a daemon of another directory.
any_alive() {
  local pid
  for pid in "$@"; do
    [[ $(sed -nE 's/^State:[[:space:]]*(.).*/\1/p' "/proc/$pid/status" 2>/dev/null) == [!ZX] ]] && return
  done
  return 1
}

down() {
  local pids=() pid tries
  rm -f "$dir"/run/owner-*
  for name in slurmctld slurmd-node1 slurmd-node2 munged; do
    if pid=$(running "${name%%-*}" "$name"); then pids+=("$pid"); fi
  done
  mapfile -t -O ${#pids[@]} pids < <(leftovers)
  [ ${#pids[@]} -eq 0 ] && { say "nothing runs"; return; }
  kill -TERM "${pids[@]}" 2>/dev/null || true
  for ((tries = 0; tries < 10; tries++)); do
    any_alive "${pids[@]}" || break
    sleep 0.2
  done
  kill -KILL "${pids[@]}" 2>/dev/null || true
  rm -f "$dir"/run/*.pid "$dir"/run/munge.socket*
  say "is down"
}

status() {
  local all=0 name pid
  for name in munged slurmctld slurmd-node1 slurmd-node2; do
    if pid=$(running "${name%%-*}" "$name"); then echo "$name runs ($pid)"; else echo "$name does not run"; all=1; fi
  done
  return $all
}

case "$action" in
  up) up ;;
  down) down ;;
  status) status ;;
  *) usage ;;
esac
