#!/usr/bin/env bash
# One run of a sweep as a task of a SLURM job array; submitted by slurm_sweep.sh.
#   slurm_task.sh PYTHON SWEEP.ini [--train_flag=FLAG]...
set -uo pipefail

python="$1" sweep_file="$2"
shift 2
child="" requeue=""
# USR1 comes to this shell alone, before the time limit: the run saves, and queues again.
trap 'requeue=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' USR1
# TERM comes to all processes of a task that is cancelled or preempted. The run has it already; one
# more would end it before it has saved. Whether it runs again is for SLURM to decide.
trap ':' TERM

echo "task $SLURM_ARRAY_TASK_ID of job $SLURM_ARRAY_JOB_ID on $(hostname), start" \
  "$((${SLURM_RESTART_COUNT:-0} + 1)), $(date '+%F %T')"
"$python" -m simple_tf.sweep "--file=$sweep_file" "$@" "--run=$SLURM_ARRAY_TASK_ID" &
child=$!
status=0
while kill -0 "$child" 2>/dev/null; do
  wait "$child"
  status=$?
done
echo "task $SLURM_ARRAY_TASK_ID ended with code $status, $(date '+%F %T')"
if [ -n "$requeue" ] && [ "$status" -ne 0 ]; then
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit "$status"
