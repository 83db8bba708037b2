#!/usr/bin/env bash
# Runs a sweep on the GPUs of this machine, one run on each GPU at a time:
#   bash launch/gpu.sh launch/sweeps/paper.ini
#   bash launch/gpu.sh SWEEP.ini --devices=0,2        these GPUs; by default those that are idle
#   bash launch/gpu.sh SWEEP.ini --together           one run at a time, on all of them at once
#   bash launch/gpu.sh SWEEP.ini --tasks=0-3          some of the runs only
# --dry_run prints what would be done, and does nothing. Started again, it goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh
source launch/sweep_tasks.sh

# A GPU on which others use more than this, in MiB, is not idle.
readonly MOST_USED=1000

# Prints the numbers of the idle GPUs, one on a line.
idle_gpus() {
  nvidia-smi --query-gpu=index,memory.used --format=csv,noheader,nounits \
    | awk -F', *' -v most="$MOST_USED" '$2 <= most { print $1 }'
}

# Sets $devices to those that are wanted, or else idle, if there are any.
choose_devices() {
  local there device
  nvidia-smi --list-gpus >/dev/null || die "nvidia-smi does not work here: is the driver loaded?"
  mapfile -t there < <(nvidia-smi --query-gpu=index --format=csv,noheader)
  if [ -z "$wanted" ]; then
    mapfile -t devices < <(idle_gpus)
    [ "${#devices[@]}" -gt 0 ] || die "No GPU is idle (all of ${there[*]} hold more than" \
      "$MOST_USED MiB); wait, or choose with --devices=."
  fi
  for device in "${devices[@]}"; do
    [[ " ${there[*]} " == *" $device "* ]] || die "There is no GPU $device, only: ${there[*]}."
  done
}

take_sweep "${1:-}"
shift || true
wanted="" chosen="" together=""
for argument in "$@"; do
  case "$argument" in
    --devices=*) wanted="${argument#*=}" ;;
    --tasks=*) chosen="${argument#*=}" ;;
    --together) together=1 ;;
    --train_flag=*) train_flags+=("${argument#*=}") ;;
    --dry_run) dry_run=1 ;;
    *) die "Not an option: $argument. See the beginning of launch/gpu.sh." ;;
  esac
done

IFS=, read -r -a devices <<<"${wanted:-(whichever is idle)}"
if need nvidia-smi "no GPU, or no driver for it."; then
  choose_devices
fi
if [ -n "$together" ]; then
  devices=("$(IFS=,; echo "${devices[*]}")")
  train_flags+=(--strategy=multi_gpu)
fi

use_environment gpu
choose_tasks "$chosen"
sweep --check
if [ -n "$dry_run" ]; then
  printf 'would use GPU %s\n' "${devices[@]}"
  show_tasks
  exit
fi
"$SIMPLE_TF_PYTHON" -c 'import simple_tf, sys, tensorflow as tf
sys.exit(not tf.config.list_physical_devices("GPU"))' \
  || die "TensorFlow sees no GPU. A driver of at least version 525 (CUDA 12) is needed: nvidia-smi."
say_how_to_watch_and_stop
run_tasks "${devices[@]}"
