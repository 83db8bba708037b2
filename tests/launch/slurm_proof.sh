#!/usr/bin/env bash
# A real sweep on a real SLURM: sets up a throw-away cluster of one node with two slots, submits
# 2 games x 2 seeds with smoke.gin, kills one run, lets another come to its time limit, waits for
# all four and collects them in a report.
#   bash tests/launch/slurm_proof.sh [WORK_DIR]
# As root on Debian with: apt-get install slurm-wlm munge. Takes some minutes; not part of the tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
source launch/environment.sh
use_environment ""
work=$(realpath -m "${1:-$(mktemp -d)}")
mkdir -p "$work"/{state,spool,munge}
node=$(hostname -s)
pids=()
# From here on every command of SLURM means this cluster and no other.
export SLURM_CONF="$work/slurm.conf"

# stop_cluster: ends what this script has started, by number.
stop_cluster() {
  local pid
  scancel --user=root >/dev/null 2>&1 || true
  sleep 2
  for pid in ${pids[@]+"${pids[@]}"}; do
    kill "$pid" 2>/dev/null || true
  done
}
trap stop_cluster EXIT

start_cluster() {
  dd if=/dev/urandom of="$work/munge/key" bs=128 count=1 status=none
  chmod 600 "$work/munge/key"
  chmod 711 "$work/munge"
  cat >"$work/slurm.conf" <<CONF
ClusterName=proof
SlurmctldHost=$node
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CryptoType=crypto/munge
SlurmUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
JobRequeue=1
SchedulerParameters=requeue_delay=0
KillWait=30
NodeName=$node CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=4000 State=UNKNOWN
PartitionName=proof Nodes=$node Default=YES MaxTime=INFINITE State=UP
CONF
  munged --foreground --key-file="$work/munge/key" --socket="$work/munge/socket" \
    --pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed" \
    --force >/dev/null 2>&1 &
  pids+=($!)
  sleep 1
  slurmctld -D >"$work/slurmctld.out" 2>&1 &
  pids+=($!)
  sleep 2
  slurmd -D >"$work/slurmd.out" 2>&1 &
  pids+=($!)
  for _ in $(seq 30); do
    sinfo --noheader --format=%T 2>/dev/null | grep -q idle && return
    sleep 1
  done
  echo "The cluster did not come up, see $work." >&2
  exit 1
}

start_cluster
sinfo --Node --long

sed "s|^output_dir = .*|output_dir = $work/runs|" launch/sweeps/smoke.ini >"$work/proof.ini"
export SIMPLE_TF_LOGS="$work/logs"
bash launch/slurm_sweep.sh "$work/proof.ini" -- --cpus-per-task=1 --mem=1500M | tee "$work/submitted"
job=$(sed -n 's/^submitted: job array \([0-9]*\),.*/\1/p' "$work/submitted")

# saved RUN: waits until a run has written a checkpoint while it trains.
saved() {
  until grep -qs . "$work/runs/$1/checkpoints"/[0-9]*/contents.json; do
    sleep 1
  done
}

# SLURM's own kill, as for a preempted job; and the notice before a time limit.
saved pong-smoke-0
scontrol requeue "${job}_0"
saved freeway-smoke-0
# Complains when the run is faster than it and queues again.
scancel --batch --signal=USR1 "${job}_1" || true
sleep 5
squeue --array

while squeue --noheader --job="$job" 2>/dev/null | grep -q .; do
  sleep 5
done
for task in 0 1 2 3; do
  echo "--- run $task"
  grep -v '^$' "$SIMPLE_TF_LOGS/$task.log"
done
"$SIMPLE_TF_PYTHON" -m simple_tf.sweep "--file=$work/proof.ini" --list | tee "$work/list"
"$SIMPLE_TF_PYTHON" -m simple_tf.report "--runs=$work/runs" "--output_dir=$work/report"
cat "$work/report/scores.md"

[ "$(grep -c ' finished ' "$work/list")" = 4 ]
for task in 0 1; do
  grep -q "start 2" "$SIMPLE_TF_LOGS/$task.log"
  grep -q "going on in iteration" "$SIMPLE_TF_LOGS/$task.log"
done
echo "PROVED: four runs finished, two of them after they were stopped and requeued."
