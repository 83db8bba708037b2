#!/usr/bin/env bash
# Runs a sweep on a Google Cloud TPU VM, one run after the other on all cores of the TPU:
#   bash launch/tpu_vm.sh start SWEEP.ini --name=simple-tf --zone=us-central1-a --type=v5litepod-4
#   bash launch/tpu_vm.sh fetch SWEEP.ini --name=simple-tf --zone=us-central1-a
#   bash launch/tpu_vm.sh stop   SWEEP.ini ...      runs save and end; start goes on with them
#   bash launch/tpu_vm.sh delete SWEEP.ini ...      the VM and everything on it; fetch first
# start creates the VM unless there is one of that name, copies this checkout, installs, and runs in
# tmux. Further options: --project=ID, --spot, --tasks=FIRST-LAST (to share a sweep among VMs).
# A batch is shared equally by the cores: the paper's 4 windows fit 1 or 4 of them (the default); types
# with 8 (v2-8, v3-8, v5litepod-8) need WorldModelPhase.batch_size = 8 among the sweep's bindings.
# --dry_run prints the commands and does nothing but check the sweep.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh
source launch/sweep_tasks.sh

# The image with the very TensorFlow that simple_tf is pinned to.
readonly IMAGE=tpu-vm-tf-2.15.1-pjrt
# TPUs with one host; larger ones need a program on each of their hosts.
readonly TYPES=" v2-8 v3-8 v4-8 v5litepod-1 v5litepod-4 v5litepod-8 "

gcloud_tpu() {
  do_or_show gcloud compute tpus tpu-vm "$@" "${place[@]}"
}

on_vm() {
  gcloud_tpu ssh "$name" "--command=$1"
}

exists() {
  [ -z "$dry_run" ] && gcloud compute tpus tpu-vm describe "$name" "${place[@]}" >/dev/null 2>&1
}

start() {
  sweep --check
  choose_tasks "$chosen"
  if exists; then
    echo "$name exists already and is used."
  else
    do_or_show gcloud compute tpus accelerator-types describe "$type" "${place[@]}"
    gcloud_tpu create "$name" "--accelerator-type=$type" "--version=$IMAGE" ${spot:+--spot}
  fi
  archive=$(mktemp --suffix=.tar.gz)
  trap 'rm -f "$archive"' EXIT
  do_or_show tar --exclude=__pycache__ -czf "$archive" setup.py pyproject.toml README.md simple_tf gin launch
  gcloud_tpu scp "$archive" "$name:simple_tf.tar.gz"
  gcloud_tpu scp "$sweep_file" "$name:sweep.ini"
  on_vm "mkdir -p simple_tf && tar -xzf simple_tf.tar.gz -C simple_tf"
  on_vm "bash simple_tf/launch/tpu_vm_node.sh ~/sweep.ini ${chosen:+--tasks=$chosen}"
  echo "watch:  gcloud compute tpus tpu-vm ssh $name ${place[*]} --command='tail -f simple_tf/sweep.log'
fetch:  bash launch/tpu_vm.sh fetch $sweep_file --name=$name ${place[*]}
stop:   bash launch/tpu_vm.sh stop $sweep_file --name=$name ${place[*]}
delete: bash launch/tpu_vm.sh delete $sweep_file --name=$name ${place[*]} (it costs money until then)"
}

fetch() {
  local directory
  directory=$(sweep --where)
  do_or_show mkdir -p "$(dirname "$directory")"
  gcloud_tpu scp --recurse --compress "$name:simple_tf/$directory" "$(dirname "$directory")"
  echo "report: $SIMPLE_TF_PYTHON -m simple_tf.report --runs=$directory"
}

stop() {
  on_vm "tmux send-keys -t simple_tf C-c"
}

delete() {
  gcloud_tpu delete "$name"
}

action="${1:-}"
[[ " start fetch stop delete " == *" $action "* ]] \
  || die "Say what to do: start, fetch, stop or delete. See the beginning of launch/tpu_vm.sh."
take_sweep "${2:-}"
shift 2
name="" type=v5litepod-4 spot="" chosen="" zone="" project=""
for argument in "$@"; do
  case "$argument" in
    --name=*) name="${argument#*=}" ;;
    --zone=*) zone="${argument#*=}" ;;
    --type=*) type="${argument#*=}" ;;
    --project=*) project="${argument#*=}" ;;
    --tasks=*) chosen="${argument#*=}" ;;
    --spot) spot=1 ;;
    --dry_run) dry_run=1 ;;
    *) die "Not an option: $argument. See the beginning of launch/tpu_vm.sh." ;;
  esac
done
[[ "$name" =~ ^[a-z]([a-z0-9-]*[a-z0-9])?$ ]] || die "--name takes small letters, digits and -: '$name'."
[ -n "$zone" ] || die "--zone is missing, for instance --zone=us-central1-a."
[[ "$TYPES" == *" $type "* ]] || die "--type=$type: this script knows the TPUs with one host:$TYPES"
place=("--zone=$zone" ${project:+"--project=$project"})
need gcloud "install Google Cloud's CLI." || true
use_environment ""
"$action"
