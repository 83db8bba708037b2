#!/usr/bin/env bash
# Sets up .venv and runs the main job on this machine. Flags are passed on:
#   bash launch/local.sh --game=freeway --seed=1
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh
ensure_environment ""  # No extras: the main job needs none.

output_dir="runs/random_play-$(date +%Y%m%d-%H%M%S)"
previous=""
for argument in "$@"; do
  case "$previous" in --output_dir | -output_dir) output_dir="$argument" ;; esac
  case "$argument" in --output_dir=* | -output_dir=*) output_dir="${argument#*=}" ;; esac
  previous="$argument"
done

.venv/bin/python -m simple_tf.collect --output_dir="$output_dir" "$@"
.venv/bin/python -m simple_tf.data.inspect --store_dir="$output_dir/episodes"
