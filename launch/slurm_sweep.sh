#!/usr/bin/env bash
# Submits a sweep to SLURM: a job array, one task for each run. What follows -- goes to sbatch:
#   bash launch/slurm_sweep.sh launch/sweeps/paper.ini --extras=gpu --parallel=16 -- \
#     --partition=gpu --gres=gpu:1 --cpus-per-task=8 --mem=32G --time=24:00:00
# Two minutes before its time limit a run saves and puts itself back into the queue; a task whose
# node fails, or that is preempted, is requeued by SLURM. Both go on where they were. The checkout,
# .venv and the runs have to be on a file system that all nodes see.
# --dry_run prints the command of sbatch and submits nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh
source launch/sweep_tasks.sh

# How long before the time limit a run is told to save, in seconds. SLURM looks every 30 to 60.
readonly NOTICE=120

take_sweep "${1:-}"
shift || true
extras="" parallel="" sbatch_options=()
while [ $# -gt 0 ]; do
  case "$1" in
    --extras=*) extras="${1#*=}" ;;
    --parallel=*) parallel="${1#*=}" ;;
    --train_flag=*) train_flags+=("${1#*=}") ;;
    --dry_run) dry_run=1 ;;
    --) shift; sbatch_options=("$@"); break ;;
    *) die "Not an option: $1. Options of sbatch come behind --; see launch/slurm_sweep.sh." ;;
  esac
  shift
done
[[ "$parallel" =~ ^([1-9][0-9]*)?$ ]] || die "--parallel takes a number of at least 1, not $parallel."
need sbatch "run this on a login node of SLURM." || true

use_environment "$extras"
sweep --check
choose_tasks ""
logs="${SIMPLE_TF_LOGS:-$PWD/runs/logs/$(basename "$sweep_file" .ini)}"
command=(
  sbatch --parsable --requeue --open-mode=append "--signal=B:USR1@$NOTICE"
  "--job-name=simple_tf" "--output=$logs/%a.log" "--chdir=$PWD"
  "--array=0-$((${#tasks[@]} - 1))${parallel:+%$parallel}"
  ${sbatch_options[@]+"${sbatch_options[@]}"}
)
script=(launch/slurm_task.sh "${later_python:-$SIMPLE_TF_PYTHON}" "$sweep_file"
  ${train_flags[@]+"${train_flags[@]/#/--train_flag=}"})
if [ -n "$dry_run" ]; then
  do_or_show "${command[@]}" "${script[@]}"
  exit
fi
mkdir -p "$logs"
"${command[@]}" --test-only "${script[@]}" || die "SLURM refuses the job; nothing was submitted."
job=$("${command[@]}" "${script[@]}")
job="${job%%;*}"
echo "submitted: job array $job, ${#tasks[@]} runs
watch:  squeue --job=$job; tail -f $logs/0.log
        cd $PWD && $SIMPLE_TF_PYTHON -m simple_tf.sweep --file=$sweep_file --list
cancel: scancel $job
go on:  the same command again; runs that are finished end at once"
