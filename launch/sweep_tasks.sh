# Sourced by the scripts that launch sweeps: what they share.
# shellcheck shell=bash

# Prints to stderr and ends the script.
die() {
  echo "$*" >&2
  exit 2
}

# Further flags of every run, and whether to show only what would be done. Of a dry run: whether the
# sweep cannot be checked here, and the Python that would be used, see launch/environment.sh.
train_flags=() dry_run="" unchecked="" later_python=""

# take_sweep FILE: sets $sweep_file, seen from where the user is or from the top of the repository.
take_sweep() {
  local place
  if [ "${1:-}" = --dry_run ]; then
    dry_run=1
    echo "No sweep was named; as an example: launch/sweeps/smoke.ini." >&2
    set -- launch/sweeps/smoke.ini
  fi
  for place in "${OLDPWD:-$PWD}" "$PWD"; do
    if [ -n "${1:-}" ] && sweep_file=$(cd "$place" && realpath --canonicalize-existing -- "$1" 2>/dev/null); then
      return
    fi
  done
  die "There is no sweep ${1:-(none was named)}; try launch/sweeps/smoke.ini."
}

# sweep --FLAG...: asks the program about the sweep.
sweep() {
  if [ -n "$unchecked" ] && [ "$1" = --check ]; then
    echo "and check the sweep then: no Python here has simple_tf's dependencies (SIMPLE_TF_PYTHON can" \
      "name one). What follows has not been checked:" >&2
    return
  fi
  "$SIMPLE_TF_PYTHON" -m simple_tf.sweep "--file=$sweep_file" \
    ${train_flags[@]+"${train_flags[@]/#/--train_flag=}"} "$@"
}

# need TOOL SENTENCE: ends the script if the tool is not here; a dry run says so and goes on. Returns
# whether it is.
need() {
  if command -v "$1" >/dev/null; then
    return
  fi
  [ -n "$dry_run" ] || die "There is no $1 here: $2"
  echo "There is no $1 here; this shows what would be done where there is." >&2
  return 1
}

# With $dry_run set, prints a command as one could type it; otherwise does it.
do_or_show() {
  if [ -n "$dry_run" ]; then
    printf '%q ' "$@"
    echo
  else
    "$@"
  fi
}

# choose_tasks [FIRST-LAST]: sets $tasks to the numbers of the runs to do, by default all.
choose_tasks() {
  local count first last
  count=$(sweep --count) || exit 1
  first=0 last=$((count - 1))
  if [ -n "${1:-}" ]; then
    [[ "$1" =~ ^[0-9]+-[0-9]+$ ]] || die "--tasks takes FIRST-LAST, for instance 0-3, not $1."
    first=$((10#${1%-*})) last=$((10#${1#*-}))
    if [ "$first" -gt "$last" ] || [ "$last" -ge "$count" ]; then
      die "--tasks=$1: the sweep has the runs 0-$((count - 1))."
    fi
  fi
  mapfile -t tasks < <(seq "$first" "$last")
}

# Prints the commands of the chosen runs.
show_tasks() {
  sweep "${tasks[@]/#/--command=}" ${later_python:+"--python=$later_python"}
}

# Prints how one sees how far the runs are, and how one stops what this script has started.
say_how_to_watch_and_stop() {
  echo "watch: cd $PWD && $SIMPLE_TF_PYTHON -m simple_tf.sweep --file=$sweep_file --list"
  echo "stop:  Ctrl-C, or kill $$; runs save first, and the same command goes on with them"
}

# run_tasks DEVICE...: one worker for each device does runs until none is left; "any" leaves the
# choice of devices to TensorFlow. Returns 0 if all runs came to their end.
run_tasks() {
  local device worker workers=() stopped="" failed=0
  work_dir=$(mktemp -d)
  trap 'rm -rf "$work_dir"' EXIT
  logs="${SIMPLE_TF_LOGS:-$PWD/runs/logs/$(basename "$sweep_file" .ini)}"
  mkdir -p "$logs"
  # Before there is anything to stop: workers that nobody could reach would go on alone.
  trap 'stopped=1; echo "Stopping: runs save and end; the same command goes on with them."
    kill -TERM "${workers[@]}" 2>/dev/null' INT TERM
  for device in "$@"; do
    [ -z "$stopped" ] || break
    work_on_tasks "$device" &
    workers+=($!)
  done
  # The last one may have come too late for the signal.
  [ -z "$stopped" ] || kill -TERM "${workers[@]}" 2>/dev/null || true
  for worker in "${workers[@]}"; do
    wait_for "$worker" || failed=1
  done
  return "$failed"
}

# wait_for PID: waits for a child until it has ended, however many signals arrive; its status.
wait_for() {
  local status=0
  while kill -0 "$1" 2>/dev/null; do
    wait "$1" && status=0 || status=$?
  done
  return "$status"
}

# work_on_tasks DEVICE: one run after the other, in a process of its own. On SIGTERM the run at hand
# saves and ends, and no other is begun.
work_on_tasks() {
  local device="$1" task child="" stopped="" told="" failed=0
  trap 'stopped=1; tell_child_to_stop' TERM
  trap '' INT
  trap - EXIT
  for task in "${tasks[@]}"; do
    [ -z "$stopped" ] || return 143
    # Making a directory either succeeds or tells that another worker was first.
    mkdir "$work_dir/$task" 2>/dev/null || continue
    echo "run $task begins on $device: $logs/$task.log"
    start_task "$device" "$task" >>"$logs/$task.log" 2>&1 &
    child=$!
    [ -z "$stopped" ] || tell_child_to_stop
    if wait_for "$child"; then
      echo "run $task ended"
    else
      failed=$?
      echo "run $task was stopped or failed (code $failed), see $logs/$task.log"
    fi
  done
  [ -z "$stopped" ] || return 143
  return "$failed"
}

# Of a worker: tells the run at hand once, if there is one. A second signal would end it before it
# has saved.
tell_child_to_stop() {
  [ -n "$child" ] && [ -z "$told" ] || return 0
  told=1
  kill -TERM "$child" 2>/dev/null || true
}

# start_task DEVICE TASK: becomes the run. In a session of its own, so that Ctrl-C in the terminal
# reaches it once, through its worker: a second signal would end it before it has saved.
start_task() {
  [ "$1" = any ] || export CUDA_VISIBLE_DEVICES="$1"
  exec setsid "$SIMPLE_TF_PYTHON" -m simple_tf.sweep "--file=$sweep_file" \
    ${train_flags[@]+"${train_flags[@]/#/--train_flag=}"} "--run=$2"
}
