#!/usr/bin/env bash
# Sets up .venv and runs lint, type checks and tests. Arguments go to pytest:
#   bash launch/test.sh tests/envs
#   bash launch/test.sh -m slow
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh
ensure_environment dev,baselines  # Reverb, too: without it Rainbow's tests could only be skipped.

.venv/bin/ruff check .
.venv/bin/ruff format --check --quiet .
.venv/bin/mypy
# Two workers: most of a test's time is Python preparing graphs, on one core.
exec .venv/bin/python -m pytest -n 2 --dist loadfile "$@"
