#!/usr/bin/env bash
# Sets up .venv and trains on this machine: cpu.gin on its default game. Flags are passed on:
#   bash launch/local.sh --game=pong --seed=1
#   bash launch/local.sh --gin_file=smoke.gin
# Started again with the same --output_dir, it goes on where it was.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh
ensure_environment ""  # No extras: the main job needs none.

has_flag() {
  local flag="$1" argument
  shift
  for argument in "$@"; do
    case "$argument" in "--$flag" | "--$flag="* | "-$flag" | "-$flag="*) return 0 ;; esac
  done
  return 1
}

defaults=()
has_flag gin_file "$@" || defaults+=(--gin_file=cpu.gin)
has_flag game "$@" || defaults+=(--game=freeway)
has_flag output_dir "$@" || defaults+=("--output_dir=runs/local-$(date +%Y%m%d-%H%M%S)")

exec .venv/bin/python -m simple_tf.train ${defaults[@]+"${defaults[@]}"} "$@"
