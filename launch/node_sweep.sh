#!/usr/bin/env bash
# Runs a sweep on this machine, one run after the other or several side by side:
#   bash launch/node_sweep.sh launch/sweeps/cpu.ini
#   bash launch/node_sweep.sh SWEEP.ini --parallel=2 --tasks=0-5 --train_flag=--verbosity=1
# --dry_run prints the commands of the runs and starts none. Started again, it goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh
source launch/sweep_tasks.sh

take_sweep "${1:-}"
shift || true
parallel=1 chosen="" extras=""
for argument in "$@"; do
  case "$argument" in
    --parallel=*) parallel="${argument#*=}" ;;
    --tasks=*) chosen="${argument#*=}" ;;
    --extras=*) extras="${argument#*=}" ;;
    --train_flag=*) train_flags+=("${argument#*=}") ;;
    --dry_run) dry_run=1 ;;
    *) die "Not an option: $argument. See the beginning of launch/node_sweep.sh." ;;
  esac
done
[[ "$parallel" =~ ^[1-9][0-9]*$ ]] || die "--parallel takes a number of at least 1, not $parallel."

use_environment "$extras"
choose_tasks "$chosen"
sweep --check
if [ -n "$dry_run" ]; then
  show_tasks
  exit
fi
say_how_to_watch_and_stop
mapfile -t devices < <(yes any | head -n "$parallel")
run_tasks "${devices[@]}"
